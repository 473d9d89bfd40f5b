#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Connection, defaultConnectionFile } from '../lib/contract/connection.ts';
import { archiveCredentialsPolicies, environment } from '../lib/contract/environment.ts';
import { type ClientFiles, writeClientFiles, writePrivateFile } from '../lib/local/connection-file.ts';
import { type Engine, startEngine } from '../lib/local/engine.ts';
import { EngineError } from '../lib/local/errors.ts';
import { freePort } from '../lib/local/http.ts';
import { quickStart } from '../lib/local/quick-start.ts';
import { freshAssembly } from '../lib/local/template/fresh-assembly.ts';
import { synthProgress } from '../lib/local/template/synth-progress.ts';
import { exitCodes } from '../lib/terminal/exit-codes.ts';
import { failureOf } from '../lib/terminal/failure.ts';
import { warnOfCommit } from '../lib/terminal/git-warning.ts';

const usage = `npm start -- [--port N] [--data-dir DIR] [--archive-credentials ${archiveCredentialsPolicies.join('|')}] [--inspect FUNCTION] [--verbose]`;
const help = `Runs the whole service on this machine, from the synthesized template.
Usage: ${usage}

  --port N                   port of the delivery API; the direct API gets the next one
  --data-dir DIR             keep the state in DIR; without it the state is gone at the end
  --archive-credentials ...  over the setting in bin/settings.ts
  --inspect FUNCTION         let a debugger attach to this function
  --verbose                  show what the synth and the functions say, and all first commands

Example:
  npm start -- --port 8080 --data-dir state
`;

const root = join(import.meta.dirname, '..');

async function main(options: ReturnType<typeof readArguments>): Promise<void> {
  const { port, dataDir, archiveCredentials, inspect, verbose } = options;
  // Child processes inherit it: they would make databases and objects that other users can read.
  process.umask(0o077);
  const started = performance.now();
  if (port !== undefined) await freePort([port]);
  const ending = new AbortController();
  const starting = freshAssembly({
    root,
    ...(verbose ? { onOutput: (text) => void process.stderr.write(text) } : synthProgress(process.stderr)),
    signal: ending.signal,
  }).then((assemblyDir) =>
    startEngine({
      assemblyDir,
      onLog: (name, line) => {
        if (name === 'engine') process.stderr.write(`${line}\n`);
        else if (verbose) process.stderr.write(`${name} ${line}\n`);
      },
      ...(port === undefined ? {} : { port }),
      ...(dataDir === undefined ? {} : { dataDir }),
      ...(inspect === undefined ? {} : { inspect }),
      ...(archiveCredentials && { environment: { [environment.archiveCredentials]: archiveCredentials } }),
    }),
  );
  let removeFiles = () => {};
  // Also while it starts: no process, lock or temporary file may stay behind.
  const stop = async () => {
    ending.abort();
    // At once, as the engine does with its connection file: a second signal may end this process at any time.
    removeFiles();
    await starting.then(
      (engine) => engine.stop(),
      () => undefined,
    );
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
  const engine = await starting.catch((error: unknown) => {
    if (ending.signal.aborted) return undefined;
    throw error;
  });
  if (engine === undefined || ending.signal.aborted) return;
  try {
    const { connection, connectionPath } = engine;
    const { files, remove } = writeClientFiles(dirname(connectionPath), connection);
    removeFiles = remove;
    const seconds = (performance.now() - started) / 1000;
    const { first, script } = quickStart({
      files,
      connectionPath: connectionPath === resolve(defaultConnectionFile) ? undefined : connectionPath,
      admin: connection.admin.username,
      released: dataDir === undefined ? undefined : await releasedDataset(connection),
      hasKey: existsSync(files.privateKeyPath),
    });
    const scriptPath = join(dirname(connectionPath), 'first-steps.sh');
    const removeScript = writePrivateFile(scriptPath, script);
    removeFiles = () => {
      remove();
      removeScript();
    };
    const next = `In another terminal, in this folder:

${first.map((command) => `  ${command}\n`).join('')}
All commands from there to a decrypted file: ${scriptPath}
`;
    await warnOfCommit(connectionPath, { warn: (text) => process.stderr.write(`warning: ${text}\n`) });
    process.stdout.write(`${summary(engine, files, options, seconds)}\n${next}${verbose ? `\n${script}` : ''}`);
  } catch (error) {
    removeFiles();
    await engine.stop();
    if (!ending.signal.aborted) throw error;
  }
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string' },
        'data-dir': { type: 'string' },
        'archive-credentials': { type: 'string' },
        inspect: { type: 'string' },
        verbose: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) {
      process.stdout.write(help);
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
    const { 'data-dir': dataDir, inspect, verbose } = values;
    return { port, dataDir, archiveCredentials, inspect, verbose };
  } catch (error) {
    throw new EngineError(`${error instanceof Error ? error.message : String(error)}\nUsage: ${usage}`);
  }
}

/** A dataset that a kept archive offers already. */
async function releasedDataset(connection: Connection): Promise<string | undefined> {
  // Loaded when it is needed: the AWS SDK's clients would delay every start.
  const { localTarget } = await import('../lib/ops/target.ts');
  for await (const { datasetId, newestEvent, files } of localTarget(connection).catalogue.datasets()) {
    if (newestEvent === 'released' && files > 0) return datasetId;
  }
  return undefined;
}

function summary(
  { connection, connectionPath, inspector }: Engine,
  { adminPasswordPath }: ClientFiles,
  options: ReturnType<typeof readArguments>,
  seconds: number,
): string {
  const { proxyUrl, dataOutUrl, logsDir, admin } = connection;
  const { dataDir = 'in a temporary folder (keep it with --data-dir DIR)', inspect } = options;
  const inspected = inspector === undefined ? '' : `  Inspector      ${inspector}, of ${inspect}\n`;
  return `data-out runs on this machine (ready in ${seconds.toFixed(1)} s). Ctrl-C ends it.

  Delivery API   ${proxyUrl}
  Direct API     ${dataOutUrl ?? 'none: the direct API is off (directAccess in bin/settings.ts)'}
  Admin page     ${proxyUrl}/admin (user ${admin.username}, password in ${adminPasswordPath})
  Connection     ${connectionPath}
  Logs           ${logsDir}
  State          ${dataDir}
${inspected}`;
}

try {
  await main(readArguments());
} catch (error) {
  const known = (thrown: unknown) =>
    thrown instanceof EngineError
      ? { exitCode: exitCodes.unexpected, code: 'failure', message: thrown.message }
      : undefined;
  const { message, remedy } = failureOf(error, known);
  process.stderr.write(`${message}\n${remedy === undefined ? '' : `${remedy}\n`}`);
  process.exit(exitCodes.unexpected);
}
