import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'smol-toml';
import { type Connection, connection, connectionVariable } from '../contract/connection.ts';
import type { StackOutputs } from '../contract/outputs.ts';
import type { Accounts } from './accounts.ts';
import { EngineError } from './errors.ts';
import type { Principal } from './iam/credentials.ts';
import { type KeyFiles, localIssuer } from './keys.ts';

/** How to reach a running engine. */
export function describeConnection(
  outputs: StackOutputs,
  endpoint: string,
  region: string,
  operator: Principal,
  accounts: Accounts,
  keys: KeyFiles,
  logsDir: string,
): Connection {
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

/** Write a file for its owner only. @returns a function that removes it */
export function writePrivateFile(path: string, text: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  // A file of an engine that died may have other permissions, or be a link.
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return () => {
    // Another engine may have put its own file there.
    if (existsSync(path) && readFileSync(path, 'utf8') === text) rmSync(path);
  };
}

/** First line of the configuration file. A file without it is the user's own. */
const mark = '# Written by npm start, which removes it at its end.\n';

/** Files beside the connection file, with which `data-out` needs no option. All paths are absolute. */
export interface ClientFiles {
  /** For `DATA_OUT_CONFIG`. It names the visa and the key below, which the user makes. */
  readonly configPath: string;
  /** For `DATA_OUT_ADMIN_PASSWORD_FILE`: an administrator's password never comes from the configuration file. */
  readonly adminPasswordPath: string;
  readonly visaPath: string;
  readonly privateKeyPath: string;
  readonly publicKeyPath: string;
  readonly downloadsDir: string;
}

/**
 * Write the client's configuration file and the password files of one engine, for their owner only.
 *
 * @param folder absolute path of the connection file's folder
 * @returns the paths, and a function that removes what was written
 * @throws EngineError for a configuration file that no engine wrote
 */
export function writeClientFiles(folder: string, connection: Connection): { files: ClientFiles; remove: () => void } {
  const { proxyUrl, admin, archiveUser } = connection;
  const files: ClientFiles = {
    configPath: join(folder, 'config.toml'),
    adminPasswordPath: join(folder, 'admin.password'),
    visaPath: join(folder, 'visa.jwt'),
    privateKeyPath: join(folder, 'me.sec.pem'),
    publicKeyPath: join(folder, 'me.pub.pem'),
    downloadsDir: join(folder, 'downloads'),
  };
  const { configPath } = files;
  if (existsSync(configPath) && !readFileSync(configPath, 'utf8').startsWith(mark)) {
    throw new EngineError(
      `${configPath} is not of npm start: move it, or name a connection file elsewhere with ${connectionVariable}`,
    );
  }
  const config = {
    url: proxyUrl,
    username: archiveUser.username,
    password_file: 'archive-user.password',
    visa_file: 'visa.jwt',
    key_files: ['me.sec.pem'],
  };
  const written = [
    writePrivateFile(join(folder, config.password_file), archiveUser.password),
    writePrivateFile(files.adminPasswordPath, admin.password),
    writePrivateFile(configPath, mark + stringify(config)),
  ];
  const remove = () => {
    for (const each of written) each();
  };
  return { files, remove };
}
