import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPrivateKey, formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { blocksOf, readPage } from '../helpers/pages.ts';
import { refusingProxy } from '../helpers/refusing-proxy.ts';
import { Service, until } from '../helpers/service.ts';
import { mountSmallDisk } from '../helpers/small-disk.ts';
import { stepsOf, Walk, type WalkChoices, type WalkStep } from '../helpers/walk.ts';

/** Follows docs/administrators.md from the first command to the last, and makes the mistakes that it lists. */
const page = 'docs/administrators.md';
const dataset = 'EGAD00000000001';
const csv = blocksOf(page).find(({ language }) => language === 'csv')?.text ?? '';

let service: Service;
let walk: Walk;
let forwardProxy: Awaited<ReturnType<typeof refusingProxy>>;
const passwords = new Map<string, string>();

beforeAll(async () => {
  service = await Service.start();
  await service.archive(dataset, 'study/sample-1.bam', 200_000, 'EGAF00000000001');
  await service.archive(dataset, 'study/sample-2.bam', 3_000_000, 'EGAF00000000002');
  await service.setDataset(dataset, 'released');
  await addUser('alice');
  await addUser('zoë 😀');
  await addUser('vera', '--role', 'VIEWER');
  forwardProxy = await refusingProxy();

  const { proxyUrl, issuer } = service.connection;
  const { host } = new URL(proxyUrl);
  walk = await Walk.start({
    programs: { 'data-out': [process.execPath, join(import.meta.dirname, '../../bin/data-out.ts')] },
    tools: ['touch', 'chmod'],
    home: '/home/alice',
    stands: {
      'https://data-out.example.org/v1/': `${proxyUrl.replace(/\/$/, '')}/`,
      'data-out.example.org': host,
      'https://issuer.example.org/': issuer.iss,
    },
  });
  await fromResearchers();
});
afterAll(async () => {
  await walk?.remove();
  forwardProxy?.close();
  await service?.stop();
});

async function addUser(name: string, ...more: readonly string[]): Promise<void> {
  const { connectionPath } = service.engine;
  const { stdout, stderr } = await opsProcess(['admin', 'add', name, '--generate', ...more], { connectionPath });
  const [, password] = /password (\S+)/.exec(stdout) ?? [];
  if (password === undefined) throw new Error(stderr);
  passwords.set(name, password);
}

/** What researchers have sent, mistakes included. */
async function fromResearchers(): Promise<void> {
  const keys = generateKeyPair();
  const publicKey = formatPublicKey(keys.publicKey);
  const expired = { iat: Date.now() / 1000 - 8000, exp: Date.now() / 1000 - 4000 };
  const files: Readonly<Record<string, string>> = {
    'jane.jwt': await service.visa({ subject: 'jane', datasetId: dataset }),
    'joe.jwt': await service.visa({ subject: 'joe 😀', datasetId: dataset }),
    'ann.jwt': await service.visa({ subject: 'ann', datasetId: dataset }),
    'old.jwt': await service.visa({ subject: 'jane', datasetId: dataset, claims: expired }),
    'session.jwt': 'eyJhbGciOiJub25lIn0.e30.c2ln',
    'jane.pub.pem': publicKey,
    'joe.pub.pem': publicKey,
    'ann.pub.pem': publicKey,
    'jane.sec.pem': await formatPrivateKey(keys.privateKey),
    'old.password': 'of last year',
    'zoë.password': passwords.get('zoë 😀') ?? '',
    'vera.password': passwords.get('vera') ?? '',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(walk.path(name), text);
}

/** What happens around the steps of that name. */
const around: Readonly<Record<string, (step: WalkStep) => Promise<void>>> = {
  'sign in': (step) => walk.follow(step, { answers: [['Password of alice:', passwords.get('alice') ?? '']] }),
  async 'password file'(step) {
    await walk.follow(step);
    await writeFile(walk.path('alice.password'), passwords.get('alice') ?? '');
  },
  async show(step) {
    const commands = step.commands.replace(/[0-9a-f-]{36}/, await requestOf(dataset));
    await walk.follow({ ...step, commands });
  },
  async batch(step) {
    await writeFile(walk.path('recipients.csv'), csv);
    await walk.follow(step, { exitCode: 5 });
  },
  async 'batch again'(step) {
    await writeFile(walk.path('recipients.csv'), csv.replace(',folder,', ',dataset,'));
    await complete(4);
    await walk.follow(step);
  },
};

const listed = async () =>
  service.sql('select request_id, state, dataset_id from data_out.requests order by requested_at');
async function requestOf(datasetId: string): Promise<string> {
  const row = (await listed()).find((each) => each[2] === datasetId);
  return row?.[0] ?? '';
}
async function complete(count: number): Promise<void> {
  await until(
    async () => ((await listed()).filter(([, state]) => state === 'complete').length >= count ? true : undefined),
    `${count} exports to be complete`,
  );
}

const steps = stepsOf(page, 'test/resilience/walk-administrator.resilience.ts');

test('every step that needs something is on the page', () => {
  const names = steps.flatMap(({ name }) => name ?? []);
  expect(names.sort()).toEqual(Object.keys(around).sort());
});

test.each(steps)(
  '$title',
  async (step) => {
    await (around[step.name ?? '']?.(step) ?? walk.follow(step));
  },
  120_000,
);

describe('mistakes', () => {
  const exportOf = (words: string) => `data-out admin export ${words} --public-key jane.pub.pem`;
  const list = 'data-out admin list';
  const url = (address: string) => ({ env: { DATA_OUT_URL: address } });
  const as = (name: string, file: string) => ({
    env: { DATA_OUT_ADMIN_USERNAME: name, DATA_OUT_ADMIN_PASSWORD_FILE: file },
  });
  interface Mistake extends WalkChoices {
    readonly of: string;
    readonly commands: string;
    readonly exitCode: number;
    readonly says: string;
  }

  const mistakes: readonly Mistake[] = [
    {
      of: 'a private key',
      commands: `data-out admin export ${dataset} --visa jane.jwt --public-key jane.sec.pem`,
      exitCode: 2,
      says: 'is a PRIVATE key, but a public key is needed here',
    },
    { of: 'an old visa', commands: exportOf(`${dataset} --visa old.jwt`), exitCode: 2, says: 'expired at' },
    {
      of: 'another password',
      commands: list,
      env: { DATA_OUT_ADMIN_PASSWORD_FILE: 'old.password' },
      exitCode: 3,
      says: 'user name or password is wrong',
    },
    {
      of: 'a user without the role',
      commands: list,
      ...as('vera', 'vera.password'),
      exitCode: 3,
      says: 'This user is not an administrator',
    },
    {
      of: 'another host',
      commands: list,
      ...url('https://data-out.invalid/v1/'),
      exitCode: 7,
      says: 'there is no such host',
    },
    {
      of: 'another port',
      commands: list,
      ...url('http://127.0.0.1:9/v1/'),
      exitCode: 7,
      says: 'no service listens there',
    },
    {
      of: 'another path',
      commands: `${list} --url https://data-out.example.org/v1/v2/`,
      exitCode: 4,
      says: 'There is no such resource',
    },
    { of: 'http', commands: list, ...url('http://archive.example.org/v1/'), exitCode: 2, says: 'is not encrypted' },
    {
      of: 'another token',
      commands: exportOf(`${dataset} --visa session.jwt`),
      exitCode: 2,
      says: 'holds neither a GA4GH visa nor a passport',
    },
    {
      of: 'another name of a file',
      commands: exportOf(`${dataset} --visa jan.jwt`),
      exitCode: 4,
      says: 'there is no file',
    },
  ];

  test.each(mistakes)(
    '$of: $says',
    async ({ commands, says, exitCode, ...choices }) => {
      const run = await walk.run(commands, choices);
      expect(run).toEqual({ printed: expect.stringContaining(says), exitCode });
    },
    120_000,
  );

  test('a forward proxy that refuses', async () => {
    // The client does not ask a proxy about this machine itself.
    const env = { DATA_OUT_URL: 'https://data-out.invalid/v1/', HTTPS_PROXY: forwardProxy.url };
    const run = await walk.run(list, { env });
    expect(run).toEqual({
      printed: expect.stringContaining('your forward proxy refuses data-out.invalid'),
      exitCode: 7,
    });
  });

  test('a full disk beside the CSV file', async ({ skip }) => {
    const disk = mountSmallDisk(walk.path('disk'), '64k') ?? skip('needs the right to mount a small disk');
    try {
      for (const name of ['ann.jwt', 'ann.pub.pem']) await copyFile(walk.path(name), walk.path('disk', name));
      await writeFile(walk.path('disk/batch.csv'), `id,visa,public_key\n${dataset},ann.jwt,ann.pub.pem\n`);
      // All the room that is left.
      await expect(writeFile(walk.path('disk/filler'), Buffer.alloc(65_536))).rejects.toThrow('ENOSPC');
      const batch = 'data-out admin export --batch disk/batch.csv';
      const says = 'the disk is full';
      expect(await walk.run(batch)).toEqual({ printed: expect.stringContaining(says), exitCode: 6 });
      disk.resize('1m');
      expect(await walk.run(batch)).toEqual({ printed: expect.stringContaining('1 queued;'), exitCode: 0 });
    } finally {
      disk.unmount();
    }
  });

  test('a user name with an emoji is not a mistake', async () => {
    const run = await walk.run(list, as('zoë 😀', 'zoë.password'));
    expect(run).toEqual({ printed: expect.stringContaining(dataset), exitCode: 0 });
  });

  test('every message of the tables is met', () => {
    const tables = [...readPage(page).matchAll(/\| it says \|.*\n.*\n((?:\|.*\n)+)/g)]
      .map(([, rows = '']) => rows)
      .join('');
    const cells = [...tables.matchAll(/^\| (.*?) \|/gm)].map(([, cell = '']) => cell);
    const messages = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text));
    const met = [...mistakes.map(({ says }) => says), 'your forward proxy refuses', 'the disk is full'];
    expect(messages.filter((message) => !met.some((each) => each === message))).toEqual([]);
    expect(messages.length).toBeGreaterThan(8);
  });
});
