/** Starts the engine in the ways that docs/local-engine.md shows. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
let child: ChildProcess | undefined;
let complaints = '';

beforeAll(() => assembly());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-start-'));
});
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

const start = (...argv: readonly string[]) =>
  spawn(process.execPath, [join(root, 'bin/start.ts'), ...argv], { cwd: root });

/** Starts the engine with its state in `folder`. @returns all that it prints on standard output */
async function ready(...argv: readonly string[]): Promise<string> {
  const started = start('--data-dir', folder, ...argv);
  child = started;
  complaints = '';
  started.stderr.on('data', (text) => {
    complaints += String(text);
  });
  let said = '';
  for await (const chunk of started.stdout) {
    said += String(chunk);
    if (said.includes('first-steps.sh')) return said;
  }
  throw new Error(`it ended: ${said}`);
}

/** @returns what the engine has printed on standard error */
async function stop(): Promise<string> {
  if (child === undefined || child.exitCode !== null) return complaints;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  return complaints;
}

/** A start that must fail. */
async function refused(...argv: readonly string[]): Promise<{ code: unknown; said: string }> {
  const wrong = start(...argv);
  let said = '';
  for (const stream of [wrong.stdout, wrong.stderr]) {
    stream.on('data', (data) => {
      said += String(data);
    });
  }
  const [code] = await once(wrong, 'close');
  return { code, said };
}

test('--archive-credentials when-presented serves the visa alone, whatever the template says', async () => {
  await ready('--archive-credentials', 'when-presented');
  const path = join(folder, 'connection.json');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(root, 'bin/data-out-ops.ts'), 'visa', 'issue', '--subject', 'researcher', '--dataset', 'EGAD1'],
    { env: { ...process.env, DATA_OUT_CONNECTION: path } },
  );
  const { proxyUrl } = JSON.parse(readFileSync(path, 'utf8')) as { proxyUrl: string };
  const headers = { 'X-GA4GH-Visa': stdout.trim() };
  const reply = await fetch(`${proxyUrl.replace(/\/$/, '')}/files?inbox=false`, { headers });
  expect([reply.status, await reply.json()]).toEqual([200, expect.objectContaining({ files: [] })]);
});

test('a taken port is refused before anything else happens', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  // A folder that is not made shows that nothing was begun.
  const dataDir = join(folder, 'state');
  const { code, said } = await refused('--port', String(port), '--data-dir', dataDir);
  server.close();
  expect([code, said]).toEqual([1, `port ${port} is taken; choose another one with --port\n`]);
  expect(existsSync(dataDir)).toBe(false);
});

/** All commands of the screen that need a shell, as pasted into one in the same folder. */
async function run(commands: readonly string[]): Promise<string> {
  const searchPath = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const script = ['set -e', ...commands].join('\n');
  // Nothing of this machine's own settings may help them.
  const env = { PATH: searchPath, HOME: folder, XDG_CONFIG_HOME: folder };
  return (await promisify(execFile)('bash', ['-c', script], { cwd: root, env })).stdout;
}

test('a start prints one screen, whose commands archive, export, list, download and decrypt, word for word', {
  timeout: 120_000,
}, async () => {
  const commandsOf = (said: string) => {
    const [, script = ''] = /: (\S+first-steps\.sh)$/m.exec(said) ?? [];
    return readFileSync(script, 'utf8')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
  };
  const screen = await ready();
  const connectionPath = join(folder, 'connection.json');
  expect(screen.replace(/[\d.]+ s\b/, '2.1 s').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080')).toBe(
    `data-out runs on this machine (ready in 2.1 s). Ctrl-C ends it.

  Delivery API   http://127.0.0.1:8080/v1
  Direct API     http://127.0.0.1:8080/v1
  Admin page     http://127.0.0.1:8080/v1/admin (user admin, password in ${folder}/admin.password)
  Connection     ${connectionPath}
  Logs           ${folder}/logs
  State          ${folder}

In another terminal, in this folder:

  export DATA_OUT_CONNECTION=${connectionPath}
  npx data-out-ops archive add README.md --dataset EGAD00000000001

All commands from there to a decrypted file: ${folder}/first-steps.sh
`,
  );
  // The client's files are their owner's alone.
  const names = ['config.toml', 'admin.password', 'archive-user.password', 'first-steps.sh'];
  const files = names.map((name) => join(folder, name));
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600, 0o600]);
  const { archiveUser, admin } = JSON.parse(readFileSync(connectionPath, 'utf8'));
  const config = readFileSync(join(folder, 'config.toml'), 'utf8');
  expect([archiveUser.password, admin.password].filter((password) => config.includes(password))).toEqual([]);

  const first = commandsOf(screen);
  expect(first.join()).not.toContain('curl');
  const said = await run(first);
  const downloaded = readdirSync(join(folder, 'downloads')).filter((name) => name.endsWith('-README.md'));
  const plain = downloaded.map((name) => readFileSync(join(folder, 'downloads', name), 'utf8'));
  expect(plain).toEqual([readFileSync(join(root, 'README.md'), 'utf8')]);
  // Once in the outbox, once in the archive.
  expect(said).toMatch(/EGAF\d+-README\.md\.c4gh/);
  expect(said).toMatch(/EGAF\d+ .*README\.md(?!\.c4gh)/);

  expect(await stop()).toBe('');
  expect(files.filter(existsSync)).toEqual([]);
  const second = commandsOf(await ready());
  // Without the steps that are done already: the dataset and the key.
  expect(first.filter((line) => !second.includes(line))).toEqual([
    expect.stringContaining('archive add'),
    expect.stringContaining('dataset release'),
    expect.stringContaining('keys generate'),
  ]);
});

test("a configuration file of the user's own is not replaced", async () => {
  const config = join(folder, 'config.toml');
  writeFileSync(config, 'url = "https://data-out.example.org/v1"\n');
  const { code, said } = await refused('--data-dir', folder);
  expect([code, said]).toEqual([1, expect.stringContaining(`${config} is not of npm start: move it`)]);
  expect(readFileSync(config, 'utf8')).toBe('url = "https://data-out.example.org/v1"\n');
  // The engine has ended in order.
  expect(['connection.json', 'engine.lock'].filter((name) => existsSync(join(folder, name)))).toEqual([]);
});

test("--inspect opens an inspector on the function's process", async () => {
  const said = await ready('--inspect', 'files');
  const [, address, of] = /Inspector +(127\.0\.0\.1:\d+), of (\S+)/.exec(said) ?? [];
  const [target] = (await (await fetch(`http://${address}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target!.webSocketDebuggerUrl);
  await once(socket, 'open');
  const expression = 'process.env.AWS_LAMBDA_FUNCTION_NAME + " " + process.env.LAMBDA_TASK_ROOT';
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
  const [{ data }] = (await once(socket, 'message')) as [{ data: string }];
  const { value } = JSON.parse(data).result.result;
  // The debugger is told where the sources are.
  const mapped = Promise.withResolvers<string>();
  socket.addEventListener('message', ({ data: text }) => {
    const { url = '', sourceMapURL = '' } = JSON.parse(String(text)).params ?? {};
    if (url.endsWith('/tasks/files/index.mjs')) mapped.resolve(sourceMapURL);
  });
  socket.send(JSON.stringify({ id: 2, method: 'Debugger.enable' }));
  expect(await mapped.promise).toBe('index.mjs.map');
  socket.close();
  const map = JSON.parse(readFileSync(join(folder, 'tasks/files/index.mjs.map'), 'utf8'));
  const sources: string[] = map.sources.map((source: string) => fileURLToPath(new URL(source, map.sourceRoot)));
  expect(sources).toContain(join(root, 'lambdas/delivery/files.ts'));
  expect(sources.filter((source) => !existsSync(source))).toEqual([]);
  expect([of, value]).toEqual(['files', expect.stringMatching(/\/tasks\/files$/)]);
});
