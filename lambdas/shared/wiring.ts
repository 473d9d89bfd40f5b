import type { S3Client } from '@aws-sdk/client-s3';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { environment, trustedIssuersFile } from '../../lib/contract/environment.ts';
import { secretArchiveKeys } from '../../lib/service/stores/archive-keys.ts';
import {
  eventBridgeClient,
  rdsDataClient,
  secretsManagerClient,
  withinAuthorizer,
} from '../../lib/service/stores/clients.ts';
import { type Events, eventBridgeEvents } from '../../lib/service/stores/events.ts';
import { deliveriesQueue, fileExportsQueue } from '../../lib/service/stores/queues.ts';
import { DataApi, type DataApiOptions } from '../../lib/service/stores/rds/data-api.ts';
import { parseArchiveBuckets, s3Archive } from '../../lib/service/stores/s3/archive.ts';
import { secretDenyList } from '../../lib/service/stores/secrets.ts';
import { parseTrustedIssuers, type VisaRules, visaRules } from '../../lib/visas/index.ts';
import { bundledJson, required } from './runtime.ts';

// What the functions are made of, from their environment. Everything throws at start-up when the deployment is incomplete.
// A bundle holds only what its function calls: no module of this repository acts on import (`sideEffects` in package.json).

const databasePatienceMs = 8000;

/**
 * The catalogue's database. A call may wait for a paused cluster to resume, unless `remainingMs` gives it less time.
 *
 * @param options.secretArn Default: the secret of the function's role
 */
export function database(options: Partial<Pick<DataApiOptions, 'remainingMs' | 'secretArn'>> = {}): DataApi {
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
  return database({ remainingMs: () => databasePatienceMs });
}

export function deployedArchive(client: S3Client) {
  const archiveBuckets = parseArchiveBuckets(required(environment.archiveBuckets));
  const secretArn = required(environment.archiveKeysSecretArn);
  return {
    archiveBuckets,
    archive: s3Archive({ client, buckets: archiveBuckets }),
    archiveKeys: secretArchiveKeys({ client: secretsManagerClient(), secretArn }),
  };
}

/** The queues of files, as their senders see them. */
export function deployedFileQueues(client: SQSClient) {
  return {
    fileExports: fileExportsQueue({ client, queueUrl: required(environment.fileExportsQueueUrl) }),
    smallFileExports: fileExportsQueue({ client, queueUrl: required(environment.smallFileExportsQueueUrl) }),
  };
}

export function deployedDeliveries(client: SQSClient) {
  return deliveriesQueue({ client, queueUrl: required(environment.deliveriesQueueUrl) });
}

/** Where events for operators go. `undefined` while the setting `events` is off. */
export function deployedEvents(): Events | undefined {
  const busArn = process.env[environment.eventBusArn];
  if (busArn === undefined) return undefined;
  return eventBridgeEvents({ client: eventBridgeClient(), busArn, deployment: required(environment.stackName) });
}

export function visaDenyList() {
  const secretArn = required(environment.visaDenyListSecretArn);
  return secretDenyList({ client: secretsManagerClient({}, withinAuthorizer), secretArn });
}

/** The one set-up of everything that verifies: the trusted issuers, the deny list, the clock. */
export function deployedVisaRules(): VisaRules {
  const issuers = parseTrustedIssuers(bundledJson(trustedIssuersFile));
  return visaRules({ issuers, denied: visaDenyList(), now: () => new Date() });
}
