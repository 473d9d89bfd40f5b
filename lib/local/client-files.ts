import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { type Connection, connectionVariable } from '../contract/connection.ts';
import { EngineError } from './errors.ts';
import { writePrivateFile } from './private-file.ts';

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
 * @param folder absolute, that of the connection file
 * @returns the paths, and a function that removes what was written
 * @throws EngineError for a configuration file that no engine wrote
 */
export function writeClientFiles(folder: string, connection: Connection): { files: ClientFiles; remove: () => void } {
  const { proxyUrl, dataOutUrl, admin, archiveUser } = connection;
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
    ...(dataOutUrl !== undefined && { direct_url: dataOutUrl }),
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
