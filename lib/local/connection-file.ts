import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Connection, connection } from '../contract/connection.ts';
import type { StackOutputs } from '../contract/outputs.ts';
import type { Accounts } from './accounts.ts';
import type { Principal } from './credentials.ts';
import { type KeyFiles, localIssuer } from './keys.ts';

/** How to reach a running engine. */
export function describeConnection(parts: {
  readonly outputs: StackOutputs;
  readonly endpoint: string;
  readonly region: string;
  readonly operator: Principal;
  readonly accounts: Accounts;
  readonly keys: KeyFiles;
  readonly logsDir: string;
}): Connection {
  const { outputs, endpoint, region, operator, accounts, keys, logsDir } = parts;
  return connection.parse({
    proxyUrl: outputs.ProxyUrl.replace(/\/$/, ''),
    dataOutUrl: outputs.DataOutUrl.replace(/\/$/, ''),
    s3Endpoint: endpoint,
    sqsEndpoint: endpoint,
    admin: accounts.admin,
    archiveUser: accounts.archiveUser,
    issuer: { iss: localIssuer, jwksPath: keys.jwksPath, privateKeyPath: keys.issuerPrivateKeyPath },
    archiveKey: { publicKeyPath: keys.archivePublicKeyPath },
    region,
    credentials: { accessKeyId: operator.accessKeyId, secretAccessKey: operator.secretAccessKey },
    endpoints: { s3: endpoint, sqs: endpoint, rdsData: endpoint, secretsManager: endpoint },
    outputs,
    logsDir,
  });
}

/** Write the file for its owner only. @returns a function that removes it. */
export function writeConnection(path: string, content: Connection): () => void {
  mkdirSync(dirname(path), { recursive: true });
  // A file of an engine that died may have other permissions, or be a link.
  rmSync(path, { force: true });
  const text = `${JSON.stringify(content, null, 2)}\n`;
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return () => {
    // Another engine may have put its own file there.
    if (existsSync(path) && readFileSync(path, 'utf8') === text) rmSync(path);
  };
}
