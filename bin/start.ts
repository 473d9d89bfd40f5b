#!/usr/bin/env node
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { archiveCredentialsPolicies } from '../lib/contract/archive-credentials.ts';
import { connectionVariable, defaultConnectionFile } from '../lib/contract/connection.ts';
import { environment } from '../lib/contract/environment.ts';
import { type Engine, startEngine } from '../lib/local/engine.ts';
import { EngineError } from '../lib/local/errors.ts';

const usage = `npm start -- [--port N] [--data-dir DIR] [--archive-credentials ${archiveCredentialsPolicies.join('|')}]`;

async function main(): Promise<void> {
  const { port, dataDir, archiveCredentials } = readArguments();
  // Child processes inherit it: they would make databases and objects that everybody can read.
  process.umask(0o077);
  const started = performance.now();
  const starting = startEngine({
    assemblyDir: join(import.meta.dirname, '../cdk.out'),
    onLog: (name, line) => {
      if (name === 'engine') process.stderr.write(`${line}\n`);
    },
    ...(port === undefined ? {} : { port }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(archiveCredentials === undefined
      ? {}
      : { environment: { [environment.archiveCredentials]: archiveCredentials } }),
  });
  // Also while it starts: processes, lock and temporary files are left to nobody.
  const stop = () => void starting.then((engine) => engine.stop()).then(() => process.exit(0));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const engine = await starting;
  process.stdout.write(guide(engine, dataDir, (performance.now() - started) / 1000));
}

interface Arguments {
  readonly port: number | undefined;
  readonly dataDir: string | undefined;
  /** Over the setting that the template was made with. */
  readonly archiveCredentials: string | undefined;
}

function readArguments(): Arguments {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string' },
        'data-dir': { type: 'string' },
        'archive-credentials': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) {
      process.stdout.write(`Runs the whole service on this machine, from the synthesized template.\nUsage: ${usage}\n`);
      process.exit(0);
    }
    const port = values.port === undefined ? undefined : Number(values.port);
    if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
      throw new EngineError(`--port ${values.port} is not a port number`);
    }
    const archiveCredentials = values['archive-credentials'];
    if (archiveCredentials !== undefined && !archiveCredentialsPolicies.some((name) => name === archiveCredentials)) {
      throw new EngineError(`--archive-credentials is one of ${archiveCredentialsPolicies.join(', ')}`);
    }
    return { port, dataDir: values['data-dir'], archiveCredentials };
  } catch (error) {
    throw new EngineError(`${error instanceof Error ? error.message : String(error)}\nUsage: ${usage}`);
  }
}

function guide({ connection, connectionPath }: Engine, dataDir: string | undefined, seconds: number): string {
  const { admin, archiveUser, proxyUrl, dataOutUrl, logsDir, archiveKey } = connection;
  return `data-out runs on this machine (ready in ${seconds.toFixed(1)} s). Ctrl-C ends it.

  Proxy API      ${proxyUrl}
  Data-out API   ${dataOutUrl}
  Connection     ${connectionPath}
  Logs           ${logsDir}
  State          ${dataDir ?? 'in a temporary folder (keep it with --data-dir DIR)'}

Fill the archive and release a dataset (another terminal, same folder):

${connectionPath === resolve(defaultConnectionFile) ? '' : `  export ${connectionVariable}=${connectionPath}\n`}  npx data-out-ops archive add ./some-file.txt --dataset EGAD00000000001
  npx data-out-ops dataset release EGAD00000000001
  export VISA=$(npx data-out-ops visa issue --subject researcher --dataset EGAD00000000001)

Export it for a recipient's public key (here, for a try, the archive's own):

  KEY=$(base64 < ${archiveKey.publicKeyPath} | tr -d '\\n')
  curl -u ${admin.username}:${admin.password} -H 'Content-Type: application/json' \\
    -d "{\\"id\\":\\"EGAD00000000001\\",\\"visaToken\\":\\"$VISA\\",\\"userPublicKey\\":\\"$KEY\\"}" \\
    ${proxyUrl}/export/fega

List the outbox, and download a file of it:

  curl -u ${archiveUser.username}:${archiveUser.password} -H "X-GA4GH-Visa: $VISA" '${proxyUrl}/files?inbox=false'
  curl -u ${archiveUser.username}:${archiveUser.password} -H "X-GA4GH-Visa: $VISA" -LO ${proxyUrl}/stream/FILE_NAME

Or have the files directly, decrypted, with the visa alone:

  curl -H "Authorization: Bearer $VISA" ${dataOutUrl}/metadata/datasets/EGAD00000000001/files
  curl -H "Authorization: Bearer $VISA" -OJ ${dataOutUrl}/files/FILE_ID
`;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof EngineError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
