import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { decrypt, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { collect, sha256 } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { Service, until } from '../helpers/service.ts';

/** The archive's key changes, or is lost, while people export and fetch. The steps are those of docs/operations.md. */

const dataset = 'EGAD1';
const files = { EGAF1: { path: 'small.txt', size: 2000 }, EGAF2: { path: 'large.bam', size: 9 * 2 ** 20 } };
const recipient = generateKeyPair();
let folder: string;
let service: Service;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-key-'));
  await writeFile(join(folder, 'passphrase'), 'open sesame\n');
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  service = await Service.start();
  for (const [fileId, { path, size }] of Object.entries(files)) await service.archive(dataset, path, size, fileId);
  await service.setDataset(dataset, 'released');
});
afterEach(() => service?.stop());

const file = (name: string) => join(folder, name);
const passphrase = () => ['--passphrase-file', file('passphrase')];

async function ops(...argv: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await opsProcess(argv, { connectionPath: service.engine.connectionPath });
  if (exitCode !== 0) throw new Error(`data-out-ops ${argv.join(' ')} ended with ${exitCode}: ${stderr}`);
  return stdout;
}

async function fingerprints(): Promise<string[]> {
  const lines = (await ops('archive-key', 'show', '--json')).trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as { fingerprint: string }).fingerprint);
}

async function digestOf(made: { path: string; size: number }): Promise<string> {
  return sha256(await collect(bytesOf(made)));
}

/** Export the dataset, and open what was delivered. @returns how many of its files were right */
async function exportOnce(subject: string): Promise<number> {
  const visa = await service.visa({ subject, datasetId: dataset });
  const requestId = await service.exported({ id: dataset, visa, publicKey: recipient.publicKey });
  const events = await service.settled(requestId, 2);
  expect(events.map(({ event, reason }) => [event, reason]).sort()).toEqual([
    ['accepted', null],
    ['staged', null],
    ['staged', null],
  ]);
  let right = 0;
  for (const { fileName } of await service.list(visa)) {
    const container = await service.download(visa, fileName);
    const plain = sha256(await collect(decrypt([container], { privateKeys: [recipient.privateKey] })));
    const made = files[fileName.slice(0, 5) as keyof typeof files];
    if (plain === (await digestOf(made))) right += 1;
  }
  return right;
}

/** Fetch one file directly, decrypted. */
async function fetchOnce(): Promise<boolean> {
  const visa = await service.visa({ datasetId: dataset });
  const { status, bytes } = await service.direct('files/EGAF1', visa);
  expect(status).toBe(200);
  return sha256(bytes) === (await digestOf(files.EGAF1));
}

test('the key changes while people export and fetch: no request fails, and the old key is needed no more', {
  timeout: 180_000,
}, async () => {
  const [oldKey] = await fingerprints();
  let isOver = false;
  const exports = (async () => {
    let right = 0;
    for (let round = 0; !isOver; round += 1) right += (await exportOnce(`researcher-${round}`)) - 2;
    return right;
  })();
  let fetched = 0;
  const fetches = (async () => {
    for (; !isOver; fetched += 1) expect(await fetchOnce()).toBe(true);
  })();
  const traffic = Promise.all([exports, fetches]);
  const rotation = (async () => {
    await ops('archive-key', 'add', '--generate');
    await ops('archive-key', 'save', file('new.sec'), ...passphrase());
    await ops('archive-key', 'check', file('new.sec'), ...passphrase()).then(
      () => expect.unreachable('the headers are for the old key still'),
      () => undefined,
    );
    expect(await ops('archive-key', 'reencrypt')).toContain('2 files re-encrypted');
    expect(await ops('archive-key', 'check', file('new.sec'), ...passphrase())).toContain('opens 2 of 2 files');
    await ops('archive-key', 'remove', oldKey!, '--yes');
    expect(await fingerprints()).not.toContain(oldKey);
  })();
  await Promise.race([rotation, traffic]);
  await rotation;
  const fetchedBefore = fetched;
  await until(() => (fetched > fetchedBefore + 1 ? true : undefined), 'requests after the change');
  isOver = true;
  expect((await traffic)[0]).toBe(0);
  expect(await exportOnce('afterwards')).toBe(2);
  const damaged = service.logs.filter(({ line }) => line.includes('archive_damaged'));
  expect(damaged).toEqual([]);
});

test('the secret is lost: with the copy alone, the archive is back, and files that were given up are delivered', {
  timeout: 180_000,
}, async () => {
  await ops('archive-key', 'save', file('copy.sec'), ...passphrase());
  const { ArchiveKeysSecretArn: SecretId } = service.connection.outputs;
  await service.secretsManager.send(new PutSecretValueCommand({ SecretId, SecretString: '{"keys":[]}' }));
  expect(await readFile(file('copy.sec'), 'utf8')).toContain('CRYPT4GH PRIVATE KEY');

  const visa = await service.visa({ datasetId: dataset });
  const requestId = await service.exported({ id: dataset, visa, publicKey: recipient.publicKey });
  const givenUp = async () => (await service.audit(requestId)).filter(({ event }) => event === 'given_up').length;
  await until(async () => (await givenUp()) === 2 || undefined, 'both files to be given up');
  expect(await ops('archive-key', 'check', file('copy.sec'), ...passphrase())).toContain('opens 2 of 2 files');
  await ops('archive-key', 'add', file('copy.sec'), ...passphrase());
  await ops('exports', 'retry', requestId);
  expect((await service.settled(requestId, 2)).filter(({ event }) => event === 'staged')).toHaveLength(2);
  expect(await fetchOnce()).toBe(true);
});
