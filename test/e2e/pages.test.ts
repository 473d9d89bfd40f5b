import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Connection } from '../../lib/contract/connection.ts';
import { outboxPrefix } from '../../lib/contract/outbox-key.ts';
import {
  encrypt,
  formatPrivateKey,
  formatPublicKey,
  generateKeyPair,
  parsePublicKey,
} from '../../lib/crypt4gh/index.ts';
import { assembly } from '../helpers/assembly.ts';
import { collect, generatedPlaintext } from '../helpers/crypt4gh-vectors.ts';
import { InstalledClient } from '../helpers/installed-client.ts';
import { type Block, blocksOf, pages } from '../helpers/pages.ts';
import { until } from '../helpers/service.ts';

/**
 * Runs the commands of README.md, docs/client.md, docs/drs.md and docs/trusted-issuers.md as they stand there, in the order
 * in which an operator, an administrator and a researcher follow them, on one engine. `--aws` is left out: the same
 * commands then work on the engine.
 */
const root = join(import.meta.dirname, '../..');
const blocks = pages
  .flatMap((page) => blocksOf(page))
  .filter(({ comment }) => comment === 'run by test/e2e/pages.test.ts');
const sample = generatedPlaintext('pages', 200_000);
const container = 'EGAF00000000001-sample.bam.c4gh';
const passphrase = 'correct horse';

let world: string;
let client: InstalledClient;
let engine: ChildProcess;
let connection: Connection;
/** Passwords that `--generate` has printed. */
const passwords = { alice: '', central: '' };

beforeAll(async () => {
  world = await mkdtemp(join(tmpdir(), 'data-out-pages-'));
  [client] = await Promise.all([InstalledClient.install(), assembly()]);
  for (const person of ['operator', 'researcher', 'program', 'reader', 'batch']) await mkdir(join(world, person));
  await writeFile(join(world, 'operator/sample.bam'), sample);
});
afterAll(async () => {
  engine?.kill('SIGTERM');
  if (engine && engine.exitCode === null) await once(engine, 'exit');
  await client?.remove();
  await rm(world, { recursive: true, force: true });
});

/** The programs of the pages, without npm and without programs that show an answer to people. */
const programs = `
data-out() { node "$CLIENT" "$@"; }
npx() {
  [ "$1" = data-out-ops ] || return 1
  shift
  [ "$1" != --aws ] || shift
  node "$TREE/bin/data-out-ops.ts" "$@"
}
jq() { cat; }
xxd() { cat; }
head() { command head "$@"; cat >/dev/null; }
`;

/** Runs a block in a person's folder. @returns standard output @throws when a command fails, with standard error */
async function follow(block: Block, person: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const cwd = join(world, person);
  const env = {
    PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
    HOME: cwd,
    TREE: root,
    CLIENT: client.script,
    DATA_OUT_CONNECTION: join(world, 'operator/state/connection.json'),
    DATA_OUT_PASSPHRASE: passphrase,
    PROXY_URL: connection.proxyUrl,
    DIRECT_URL: connection.dataOutUrl,
    ...more,
  };
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', `${programs}${block.text}`], {
    cwd,
    env,
  });
  return stdout;
}

const researcher = () => ({
  PASSWORD: passwords.central,
  DATA_OUT_PASSWORD: passwords.central,
  DATA_OUT_URL: connection.proxyUrl,
  DATA_OUT_DIRECT_URL: connection.dataOutUrl,
  DATA_OUT_VISA_FILE: 'visa.jwt',
  DATA_OUT_USERNAME: 'central',
});
const administrator = () => ({
  PASSWORD: passwords.alice,
  DATA_OUT_URL: connection.proxyUrl,
  DATA_OUT_ADMIN_PASSWORD: passwords.alice,
});
const file = (...path: readonly string[]) => readFile(join(world, ...path));
const here = (...path: readonly string[]) => existsSync(join(world, ...path));

/** Give what one person has to another. */
async function give(names: readonly string[], from: string, to: string): Promise<void> {
  for (const name of names) await copyFile(join(world, from, name), join(world, to, name));
}

/** Wait until the researcher's listing has the exported file. */
async function staged(): Promise<void> {
  const list = { page: '', line: 0, section: '', language: 'sh', comment: undefined, text: 'data-out list --json\n' };
  await until(
    async () => ((await follow(list, 'researcher', researcher())).includes(container) ? true : undefined),
    'the export to be staged',
  );
}

/** One more container in the researcher's outbox, for their key. */
async function stage(name: string): Promise<void> {
  const { region, credentials, endpoints, outputs, issuer } = connection;
  const s3 = new S3Client({ region, credentials, endpoint: endpoints.s3, forcePathStyle: true });
  const recipients = [parsePublicKey(await file('researcher/me.pub.pem'))];
  const Key = `${outboxPrefix({ iss: issuer.iss, sub: 'me@example.org' })}/${name}`;
  await s3.send(
    new PutObjectCommand({
      Bucket: outputs.OutboxBucketName,
      Key,
      Body: Buffer.from(await collect(encrypt([sample], { recipients }))),
    }),
  );
  s3.destroy();
}

interface Step {
  readonly page: string;
  readonly section: string;
  /** Which of the section's blocks, from 0. */
  readonly index?: number;
  readonly run: (block: Block) => Promise<void>;
}

const steps: readonly Step[] = [
  {
    page: 'README.md',
    section: 'Try it',
    async run({ text }) {
      const [, argv = ''] = /^npm start -- (.*?) +#/.exec(text) ?? [];
      const port = await freePort();
      // Another program may have the port of the page.
      const args = argv.replace('8080', String(port)).split(' ');
      expect(args).toContain(String(port));
      engine = spawn(process.execPath, [join(root, 'bin/start.ts'), ...args], {
        cwd: join(world, 'operator'),
        stdio: 'ignore',
      });
      const path = join(world, 'operator/state/connection.json');
      await until(() => (existsSync(path) ? true : undefined), 'the engine to start', 90_000);
      connection = JSON.parse(readFileSync(path, 'utf8')) as Connection;
      expect(connection.proxyUrl).toContain(`:${port}`);
    },
  },
  {
    page: 'README.md',
    section: 'Try it',
    index: 1,
    async run(block) {
      await follow(block, 'operator');
      expect((await file('operator/visa.jwt')).toString()).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
      await give(['visa.jwt'], 'operator', 'researcher');
    },
  },
  {
    page: 'README.md',
    section: 'Deploy it',
    async run(block) {
      const printed = await follow(block, 'operator');
      for (const name of ['alice', 'central'] as const) {
        passwords[name] = new RegExp(`${name}.*password (\\S+)`).exec(printed)?.[1] ?? '';
        expect(passwords[name].length).toBeGreaterThan(15);
      }
    },
  },
  {
    page: 'README.md',
    section: 'Deploy it',
    index: 2,
    async run(block) {
      const listing = JSON.parse(await follow(block, 'researcher', researcher()));
      expect(listing).toEqual({ statusCode: 200, statusText: 'OK', files: [], page: '0' });
    },
  },
  {
    page: 'README.md',
    section: 'Download (researchers)',
    async run(block) {
      await follow(block, 'researcher');
      expect((await file('researcher/me.sec.pem')).toString()).toContain('PRIVATE KEY');
    },
  },
  {
    page: 'README.md',
    section: 'Export a dataset (administrators)',
    async run(block) {
      await give(['me.pub.pem'], 'researcher', 'operator');
      await follow(block, 'operator', administrator());
      await staged();
    },
  },
  {
    page: 'README.md',
    section: 'Download (researchers)',
    index: 1,
    async run(block) {
      expect(await follow(block, 'researcher', researcher())).toContain(container);
      expect((await file('researcher/data/EGAF00000000001-sample.bam')).equals(sample)).toBe(true);
    },
  },
  {
    page: 'README.md',
    section: 'With nothing but curl',
    async run(block) {
      expect(await follow(block, 'researcher', researcher())).toContain(container);
      expect((await file('researcher', container)).equals(await file('researcher/data', container))).toBe(true);
    },
  },
  {
    page: 'README.md',
    section: 'Export a dataset (administrators)',
    index: 1,
    async run(block) {
      const reply = JSON.parse(await follow(block, 'operator', administrator()));
      expect(reply).toMatchObject({ requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    },
  },
  {
    page: 'README.md',
    section: 'Have files directly (programs with a visa)',
    async run(block) {
      await give(['visa.jwt', 'me.pub.pem'], 'researcher', 'program');
      expect(await follow(block, 'program')).toContain('EGAF00000000001');
      expect((await file('program/sample.bam')).equals(sample)).toBe(true);
      expect((await file('program', container)).equals(await file('researcher', container))).toBe(true);
    },
  },
  {
    page: 'README.md',
    section: 'Have files directly (programs with a visa)',
    index: 1,
    async run(block) {
      await follow(block, 'program');
      expect((await file('program/first-mebibyte')).equals(sample)).toBe(true);
      expect((await file('program/sample.bam.c4gh')).equals(await file('researcher', container))).toBe(true);
    },
  },
  {
    page: 'README.md',
    section: 'Deploy it',
    index: 1,
    run: async (block) => void (await follow(block, 'operator')),
  },
  {
    page: 'docs/drs.md',
    section: 'GA4GH DRS',
    async run(block) {
      const printed = await follow(block, 'program', { VISA: (await file('program/visa.jwt')).toString().trim() });
      expect(printed).toContain('"size":200000');
      expect(printed).toContain(`"url":"${connection.dataOutUrl}/files/EGAF00000000001"`);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Keys',
    async run(block) {
      await mkdir(join(world, 'keys'));
      await writeFile(join(world, 'keys/new'), 'another one');
      const text = block.text.replace(/(passwd me\.sec\.pem)/, '$1 --new-passphrase-file new');
      expect(await follow({ ...block, text }, 'keys')).toContain('PUBLIC KEY');
    },
  },
  {
    page: 'docs/client.md',
    section: 'List',
    run: async (block) => expect(await follow(block, 'researcher', researcher())).toContain(container),
  },
  {
    page: 'docs/client.md',
    section: 'Download',
    async run(block) {
      await stage('EGAF00010000001-a.bam.c4gh');
      await stage('study1.cram.c4gh');
      await mkdir(join(world, 'downloads'));
      await give(['visa.jwt', 'me.sec.pem'], 'researcher', 'downloads');
      await follow(block, 'downloads', researcher());
      expect(here('downloads/data', container) && here('downloads/EGAF00010000001-a.bam.c4gh')).toBe(true);
      expect((await file('downloads/study1.cram')).equals(sample)).toBe(true);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Fetch',
    async run(block) {
      await mkdir(join(world, 'fetched'));
      await give(['visa.jwt', 'me.pub.pem'], 'researcher', 'fetched');
      await follow(block, 'fetched', researcher());
      expect((await file('fetched/sample.bam')).equals(sample)).toBe(true);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Local files',
    async run(block) {
      const bob = generateKeyPair();
      await give(['me.sec.pem', 'me.pub.pem'], 'researcher', 'reader');
      await writeFile(join(world, 'reader/alice.pub.pem'), formatPublicKey(generateKeyPair().publicKey));
      await writeFile(join(world, 'reader/bob.pub.pem'), formatPublicKey(bob.publicKey));
      await writeFile(join(world, 'reader/bob.sec.pem'), await formatPrivateKey(bob.privateKey), { mode: 0o600 });
      await writeFile(join(world, 'reader/sample.bam'), sample);
      await follow(block, 'reader');
      expect(['sample.bam.c4gh', 'from-me.c4gh', 'head.c4gh'].filter((name) => !here('reader', name))).toEqual([]);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Local files',
    index: 1,
    async run(block) {
      const fromBob = 'data-out encrypt --key bob.sec.pem -r me.pub.pem --force sample.bam; rm sample.bam\n';
      await follow({ ...block, text: fromBob }, 'reader');
      await follow(block, 'reader');
      expect((await file('reader/sample.bam')).equals(sample)).toBe(true);
      expect((await file('reader/from-bob.bam')).equals(sample)).toBe(true);
      expect((await file('reader/head')).equals(sample.subarray(0, 65_536))).toBe(true);
      expect(['for-bob.c4gh', 'parts.c4gh'].filter((name) => !here('reader', name))).toEqual([]);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Doctor',
    run: async (block) =>
      expect(await follow(block, 'researcher', researcher())).toMatch(/^ok +header .*me\.sec\.pem/m),
  },
  {
    page: 'docs/client.md',
    section: 'Export (administrators)',
    async run(block) {
      await copyFile(join(world, 'researcher/visa.jwt'), join(world, 'batch/jane.jwt'));
      await copyFile(join(world, 'researcher/me.pub.pem'), join(world, 'batch/jane.pub.pem'));
      // The engine's own administrator has the name that the page uses.
      const more = { ...administrator(), DATA_OUT_ADMIN_PASSWORD: connection.admin.password };
      expect(await follow(block, 'batch', more)).toMatch(/[0-9a-f-]{36}/);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Export (administrators)',
    index: 1,
    async run(block) {
      const csv = blocksOf('docs/client.md').find(({ language }) => language === 'csv');
      await writeFile(join(world, 'batch/recipients.csv'), csv?.text ?? '');
      for (const folder of ['visas', 'keys']) await mkdir(join(world, 'batch', folder));
      for (const name of ['jane', 'joe']) {
        await copyFile(join(world, 'researcher/visa.jwt'), join(world, `batch/visas/${name}.jwt`));
        await copyFile(join(world, 'researcher/me.pub.pem'), join(world, `batch/keys/${name}.pub.pem`));
      }
      await follow(block, 'batch', { ...administrator(), DATA_OUT_ADMIN_USERNAME: 'alice' });
      expect((await file('batch/recipients.csv.results.jsonl')).toString().trim().split('\n')).toHaveLength(2);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Completion',
    async run(block) {
      await mkdir(join(world, 'shell/.config/fish/completions'), { recursive: true });
      await follow({ ...block, text: `fpath=(zsh .)\n${block.text}` }, 'shell');
      const written = await Promise.all(
        ['.bashrc', '_data-out', '.config/fish/completions/data-out.fish'].map((name) => file('shell', name)),
      );
      for (const text of written) expect(text.toString()).toContain('data-out');
    },
  },
  {
    page: 'docs/trusted-issuers.md',
    section: 'Deny a visa, a passport or a subject',
    async run(block) {
      await copyFile(join(world, 'operator/visa.jwt'), join(world, 'operator/stolen.jwt'));
      expect(await follow(block, 'operator')).toContain('jane');
    },
  },
];

const blockOf = ({ page, section, index = 0 }: Step) =>
  blocks.filter((block) => block.page === page && block.section === section)[index];

test('this suite has each block that names it, once', () => {
  const line = (block: Block | undefined) => `${block?.page}:${block?.line}`;
  expect(steps.map((step) => line(blockOf(step))).sort()).toEqual(blocks.map(line).sort());
});

test.each(steps)(
  '$page, $section',
  async (step) => {
    const block = blockOf(step);
    if (block === undefined) throw new Error('no such block');
    await step.run(block);
  },
  120_000,
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('a server on a port has an address');
  return address.port;
}
