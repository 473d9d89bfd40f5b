import { readFileSync } from 'node:fs';
import { type Connection, connection, connectionVariable } from '../contract/connection.ts';
import type { StackOutputs } from '../contract/outputs.ts';
import type { Accounts } from './accounts.ts';
import { EngineError } from './errors.ts';
import type { Principal } from './iam/credentials.ts';
import { type KeyFiles, localIssuer } from './keys.ts';
import { writePrivateFile } from './private-file.ts';

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
    dataOutUrl: outputs.DataOutUrl?.replace(/\/$/, ''),
    s3Endpoint: endpoint,
    sqsEndpoint: endpoint,
    admin: accounts.admin,
    archiveUser: accounts.archiveUser,
    issuer: { iss: localIssuer, jwksPath: keys.jwksPath, privateKeyPath: keys.issuerPrivateKeyPath },
    archiveKey: { publicKeyPath: keys.archivePublicKeyPath },
    region,
    credentials: { accessKeyId: operator.accessKeyId, secretAccessKey: operator.secretAccessKey },
    // One endpoint serves all services.
    endpoints: Object.fromEntries(Object.keys(connection.shape.endpoints.shape).map((service) => [service, endpoint])),
    outputs,
    logsDir,
  });
}

/**
 * A second engine would replace the file and remove it at its end: no tool would find the first one then.
 *
 * @throws EngineError when the engine that a connection file describes still answers.
 */
export async function refuseSecondEngine(path: string): Promise<void> {
  const proxyUrl = proxyOf(path);
  if (proxyUrl === undefined) return;
  const answer = await fetch(proxyUrl, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
  await answer?.body?.cancel();
  if (answer?.headers.has('x-amzn-requestid')) {
    throw new EngineError(
      `an engine runs already at ${proxyUrl}: end it, or name another file with ${connectionVariable}`,
    );
  }
}

function proxyOf(path: string): string | undefined {
  try {
    return connection.parse(JSON.parse(readFileSync(path, 'utf8'))).proxyUrl;
  } catch {
    // There is no file, or another version wrote it: no usable connection is lost.
    return undefined;
  }
}

/** Write the file for its owner only. @returns a function that removes it. */
export function writeConnection(path: string, content: Connection): () => void {
  return writePrivateFile(path, `${JSON.stringify(content, null, 2)}\n`);
}
