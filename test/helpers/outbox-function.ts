import { createServer } from 'node:http';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { vi } from 'vitest';
import { outboxPrefix } from '../../lib/contract/outbox-key.ts';
import { stopServer } from '../../lib/local/http.ts';
import { makeTestIssuer, type TestIssuer } from './issuer.ts';
import { listenLocally } from './loopback.ts';
import { secretsManagerServer } from './secrets-manager-server.ts';

const denyListArn = 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:denied-AbCdEf';

/**
 * The surroundings of a function that serves the outbox: an S3 with the bucket `outbox`, one trusted issuer, an empty
 * deny list, and a database that refuses to answer.
 */
export interface OutboxSurroundings {
  readonly s3: FauxqsServer;
  readonly issuer: TestIssuer;
  /** Put a container where `stage-file` would. */
  stage(sub: string, name: string, content?: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Set the environment of the functions `files` and `stream`. Import them after this, with the trust list of the issuer
 * as their bundled JSON.
 */
export async function outboxSurroundings(): Promise<OutboxSurroundings> {
  const s3 = await startFauxqs({ port: 0, logger: false, defaultRegion: 'eu-north-1' });
  s3.createBucket('outbox');
  const issuer = await makeTestIssuer();
  const database = createServer((_, response) => {
    response.writeHead(403, { 'Content-Type': 'application/json', 'x-amzn-ErrorType': 'AccessDeniedException' });
    response.end(JSON.stringify({ message: 'not authorized to perform rds-data:ExecuteStatement' }));
  });
  const databaseUrl = await listenLocally(database);
  const secrets = await secretsManagerServer(denyListArn);
  secrets.state.secret = { denied: [] };
  const variables = {
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
    AWS_ENDPOINT_URL_S3: s3.address,
    AWS_ENDPOINT_URL_RDS_DATA: databaseUrl,
    OUTBOX_BUCKET: 'outbox',
    OUTBOX_EXPIRY_DAYS: '30',
    URL_LIFETIME_SECONDS: '900',
    ARCHIVE_CREDENTIALS: 'when-presented',
    DATABASE_CLUSTER_ARN: 'arn:aws:rds:eu-north-1:111122223333:cluster:catalogue',
    DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:database-AbCdEf',
    DATABASE_NAME: 'lega',
    VISA_DENY_LIST_SECRET_ARN: denyListArn,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  return {
    s3,
    issuer,
    stage: async (sub, name, content = 'x') => {
      const url = `${s3.address}/outbox/${outboxPrefix({ iss: issuer.iss, sub })}/${name}`;
      const response = await fetch(url, { method: 'PUT', body: content });
      if (!response.ok) throw new Error(`not staged: ${response.status}`);
    },
    stop: async () => {
      vi.unstubAllEnvs();
      await stopServer(database);
      await secrets.stop();
      await s3.stop();
    },
  };
}
