import { environment } from '../../lib/contract/environment.ts';
import { rdsDataClient } from '../../lib/stores/rds/client.ts';
import { DataApi, type DataApiOptions } from '../../lib/stores/rds/data-api.ts';
import { required } from './environment.ts';

/** Milliseconds that a query may take while a caller waits. */
const patienceMs = 8000;

/**
 * The catalogue's database, from the environment of the function; a call may wait for a paused cluster to resume, unless
 * `remainingMs` gives it less time.
 */
export function database(options: Pick<DataApiOptions, 'remainingMs'> = {}): DataApi {
  return new DataApi({
    client: rdsDataClient(),
    clusterArn: required(environment.databaseClusterArn),
    secretArn: required(environment.databaseSecretArn),
    database: required(environment.databaseName),
    ...options,
  });
}

/**
 * The same for functions that answer callers. A paused cluster needs longer to resume: the caller gets a 503, and the cluster
 * is awake for the next try.
 */
export function promptDatabase(): DataApi {
  return database({ remainingMs: () => patienceMs });
}
