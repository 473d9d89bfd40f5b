import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { calculateJwkThumbprint } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemTiming } from '../../../../../lib/common/timing.ts';
import type { DeliveryReceipt } from '../../../../../lib/contract/delivery.ts';
import { formatPrivateKey, generateKeyPair, publicKeyFingerprint } from '../../../../../lib/crypt4gh/index.ts';
import type { Terminal } from '../../../../../lib/terminal/terminal.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { OutboxServer } from '../../../../helpers/outbox-server.ts';
import { deliveredFile, ReceiptSigner, receiptOf, requestId } from '../../../../helpers/receipts.ts';

const signer = new ReceiptSigner();
const { privateKey, publicKey } = generateKeyPair();
const own = publicKeyFingerprint(publicKey);
const plaintexts = [randomBytes(70_000), randomBytes(200)];
const containers = await Promise.all(plaintexts.map((each) => containerOf(each, publicKey)));
const names = ['EGAF00000000001-a.bam.c4gh', 'EGAF00000000002-b.bam.c4gh'] as const;
const files = await Promise.all(
  names.map((name, index) => deliveredFile(name, containers[index]!, { plaintext: plaintexts[index]! })),
);
const receiptName = `EGAD00000000001-${requestId(1)}.delivery.jws`;

let server: OutboxServer;
let folder: string;
beforeAll(async () => {
  server = await OutboxServer.start();
  server.visa = 'a.b.c';
});
beforeEach(async () => {
  // A pause ends at once and moves the clock.
  let late = 0;
  vi.spyOn(systemTiming, 'now').mockImplementation(() => new Date(Date.now() + late));
  vi.spyOn(systemTiming, 'sleep').mockImplementation(async (milliseconds) => {
    late += milliseconds;
  });
  folder = await mkdtemp(join(tmpdir(), 'data-out-delivery-'));
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(privateKey), { mode: 0o600 });
  server.keySet = signer.keySet;
  for (const [index, name] of names.entries()) server.put(name, containers[index]!);
});
afterEach(async () => {
  vi.restoreAllMocks();
  server.clear();
  await rm(folder, { recursive: true });
});
afterAll(() => server?.stop());

function deliver(others: Partial<DeliveryReceipt> = {}, by = signer): void {
  server.put(receiptName, by.sign(receiptOf(files, { key_fingerprint: own, ...others })));
}

/** Another request, half an hour later, is complete. */
function deliverLater(): void {
  const later = receiptOf(files, { jti: requestId(2), requested_at: '2026-09-21T10:30:00.000Z' });
  server.put(`EGAD00000000001-${requestId(2)}.delivery.jws`, signer.sign(later));
}

const credentials = () => ({
  DATA_OUT_URL: server.url,
  DATA_OUT_VISA: 'a.b.c',
  DATA_OUT_USERNAME: 'user',
  DATA_OUT_PASSWORD: server.password,
});

/** Runs the client as the researcher. */
async function run(argv: readonly string[], choices: Partial<Terminal> = {}) {
  const env = { ...credentials(), ...choices.env };
  const ended = await runCli(argv, { folder, ...choices, env });
  return { ...ended, stdout: ended.stdout.toString() };
}

const download = (...argv: string[]) => run(['download', '-o', 'data', ...argv]);
const verify = (...argv: string[]) => run(['verify', 'data', ...argv]);
const inFolder = async () => (await readdir(join(folder, 'data'))).sort();
const rowsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

describe('download', () => {
  test('fetches the receipts, verifies the files, and ends with one line to quote', async () => {
    deliver();
    const { exitCode, stdout, stderr } = await download('--all');
    expect(lastLine(stderr)).toMatch(
      new RegExp(
        `^2 files: 2 downloaded \\(\\d.* KiB in .*\\), 2 verified; receipt ${requestId(1)} \\(generation 1, complete\\)$`,
      ),
    );
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split('\n').sort()).toEqual(names.map((name) => join(folder, 'data', name)));
    expect(await inFolder()).toEqual([receiptName, ...names]);
    // The server refuses credentials there.
    expect(server.count(/jwks\.json$/)).toBe(1);
  });

  test('with --original-paths saves the files under their submitted paths, where verify finds them', async () => {
    const paths = ['study/x.bam', '/study/../x.bam.bai.c4gh'] as const;
    deliver({ files: files.map((file, index) => ({ ...file, path: paths[index]! })) });
    expect(await download('--all', '--original-paths')).toMatchObject({ exitCode: 0 });
    const tree = ['study', 'study/__', 'study/__/x.bam.bai.c4gh', 'study/x.bam.c4gh'];
    const found = async () => (await readdir(join(folder, 'data'), { recursive: true })).sort();
    expect(await found()).toEqual([receiptName, ...tree]);
    expect((await readFile(join(folder, 'data/study/x.bam.c4gh'))).equals(containers[0]!)).toBe(true);
    expect((await verify()).exitCode).toBe(0);
    // The same command again keeps them.
    expect((await download('--all', '--original-paths')).stderr).toContain('2 already present');
    await writeFile(join(folder, 'data/study/x.bam.c4gh'), Buffer.alloc(containers[0]!.length));
    expect(await verify()).toMatchObject({ exitCode: 10, stdout: expect.stringMatching(/x\.bam\.c4gh +differs/) });
  });

  test('reads receipts again, and replaces one in the folder that differs', async () => {
    deliver();
    await download('--all');
    const path = join(folder, 'data', receiptName);
    const genuine = await readFile(path);
    await writeFile(path, Buffer.alloc(genuine.length, '.'));
    expect((await download('--all')).exitCode).toBe(0);
    expect(await readFile(path)).toEqual(genuine);
  });

  describe('to standard output', () => {
    const toOutput = (...argv: string[]) => runCli(['download', '-o', '-', ...argv], { folder, env: credentials() });

    test('gives one file, in order, compared with its receipt', async () => {
      deliver();
      const { exitCode, stdout, stderr } = await toOutput(names[0]);
      expect({ exitCode, stderr }).toMatchObject({
        exitCode: 0,
        stderr: expect.stringMatching(/, 1 verified; receipt/),
      });
      expect(stdout.equals(containers[0]!)).toBe(true);
      expect(await readdir(folder)).toEqual(['me.sec.pem']);
    });

    test('withholds the last byte of one that differs, and all of one whose receipt is not genuine', async () => {
      deliver({ files: [{ ...files[0]!, crc64nvme: 'rosUhgp5mIg=' }] });
      const differs = await toOutput(names[0]);
      expect({ ...differs, stdout: differs.stdout.length }).toMatchObject({
        exitCode: 10,
        stdout: containers[0]!.length - 1,
      });
      deliver({}, new ReceiptSigner());
      const refused = await toOutput(names[0]);
      expect({ ...refused, stdout: refused.stdout.length }).toMatchObject({ exitCode: 10, stdout: 0 });
    });

    test('whose reader ends before the file fails, without a message', async () => {
      const output = new Writable({
        write: (_chunk, _encoding, done) => done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' })),
      });
      const { exitCode, stderr } = await runCli(['download', names[0], '-o', '-'], {
        folder,
        env: credentials(),
        output,
      });
      expect({ exitCode, stderr }).toEqual({ exitCode: 5, stderr: '' });
    });
  });

  describe('one dataset of several', () => {
    const other = 'EGAD00000000002';
    beforeEach(() => {
      server.put(receiptName, signer.sign(receiptOf(files.slice(0, 1))));
      const second = receiptOf(files.slice(1), { jti: requestId(2), dataset: other });
      server.put(`${other}-${requestId(2)}.delivery.jws`, signer.sign(second));
      server.put('EGAF00000000009-x.c4gh', containers[0]!);
    });

    test('is chosen by its receipts, with its receipt alone', async () => {
      expect(await download('--dataset', other)).toMatchObject({ exitCode: 0 });
      expect(await inFolder()).toEqual([`${other}-${requestId(2)}.delivery.jws`, names[1]]);
      expect((await run(['list', '--dataset', other, '--json'])).stdout).toContain(names[1]);
      expect(rowsOf((await run(['list', '--dataset', other, '--json'])).stdout)).toHaveLength(1);
    });

    test('without a receipt is not known, which both commands say', async () => {
      for (const command of ['download', 'list']) {
        expect(await run([command, '--dataset', 'EGAD7'])).toMatchObject({
          exitCode: 4,
          stderr: expect.stringContaining('no delivery receipt names a file of "EGAD7"'),
        });
      }
    });
  });

  const incomplete = () =>
    deliver({ complete: false, missing: [{ file_id: 'EGAF00000000003', path: '/c', reason: 'given_up' }] });
  const withoutKeys = () => {
    deliver();
    server.keySet = undefined;
  };
  const withoutChecksums = () => deliver({ files: files.map(({ crc64nvme: _, ...file }) => file) });
  test.each([
    [
      'a receipt is not genuine',
      () => deliver({}, new ReceiptSigner()),
      10,
      [/signature of the receipt is not valid/, /none verified; 2 without a receipt/],
    ],
    ['the service has no keys', withoutKeys, 10, [/the delivery receipts cannot be verified/, /none verified/]],
    [
      'a delivery is not complete',
      incomplete,
      0,
      [/1 file was not delivered: EGAF00000000003 \(given_up\)/, /\(generation 1, incomplete\)\n$/],
    ],
    ['a receipt has no checksums', withoutChecksums, 10, [/2 files could be compared by header and size only/]],
  ])('downloads all, and says it, if %s', async (_, prepare, code, said) => {
    prepare();
    const { exitCode, stderr } = await download('--all');
    expect(exitCode).toBe(code);
    for (const words of said) expect(stderr).toMatch(words);
    // Only a receipt whose signature is valid is saved.
    const isGenuine = !/signature|cannot be verified/.test(stderr);
    expect(await inFolder()).toEqual([...(isGenuine ? [receiptName] : []), ...names]);
  });
});

describe('a receipt for another key', () => {
  const foreign = 'cd'.repeat(32);

  test('is named and ignored where the own keys are known', async () => {
    deliver({ key_fingerprint: foreign });
    const env = { DATA_OUT_KEY_FILE: 'me.sec.pem' };
    const { exitCode, stderr } = await run(['download', '-o', 'data', '--all'], { env });
    expect(stderr).toContain(`${receiptName}: this receipt is for another key than yours, SHA-256 ${foreign}: ignored`);
    expect(stderr).toMatch(/none verified; 2 without a receipt\n/);
    expect(exitCode).toBe(10);
    const verified = await run(['verify', 'data', '--json'], { env });
    expect(verified.stdout).toContain('"state":"no_receipt"');
    expect(verified.exitCode).toBe(10);
    expect((await run(['download', '-o', 'data', '--wait', '--timeout', '1s'], { env })).exitCode).toBe(11);
  });

  test('counts where they are not known, and the message says so', async () => {
    deliver({ key_fingerprint: foreign });
    server.put(names[1], Buffer.alloc(containers[1]!.length));
    const { exitCode, stderr } = await download('--all');
    expect(exitCode).toBe(10);
    expect(stderr).toContain('Name your key in key_files');
    const known = await run(['download', '-o', 'data2', names[1]], { env: { DATA_OUT_KEY_FILE: 'me.sec.pem' } });
    expect(known).toMatchObject({
      exitCode: 10,
      stderr: expect.stringContaining('no valid delivery receipt names it'),
    });
  });

  test('a key whose passphrase is typed is named; receipts for unknown keys count, unless another key is known', async () => {
    const safe = join(folder, 'safe.sec.pem');
    await writeFile(safe, await formatPrivateKey(privateKey, { passphrase: 'secret' }), { mode: 0o600 });
    deliver({ key_fingerprint: foreign });
    const env = { DATA_OUT_KEY_FILE: 'safe.sec.pem' };
    const unknown = `the public key of ${safe} is not known, so receipts for unknown keys are accepted`;
    const counted = await run(['download', '-o', 'data', '--all'], { env });
    expect(counted.stderr).toContain(`warning: ${unknown}: save it as ${join(folder, 'safe.pub.pem')}\n`);
    expect(counted.stderr).toContain('2 verified');
    expect((await run(['verify', 'data', '--key', 'me.sec.pem'], { env })).stderr).toContain(unknown);
    deliver();
    server.put(names[1], Buffer.alloc(containers[1]!.length));
    // The configuration names a readable key beside the other one.
    await mkdir(join(folder, '.config/data-out'), { recursive: true });
    const keys = ['me.sec.pem', 'safe.sec.pem'].map((name) => join(folder, name));
    await writeFile(join(folder, '.config/data-out/config.toml'), `key_files = ${JSON.stringify(keys)}\n`);
    const other = await run(['download', '-o', 'other', '--all'], { env: { HOME: folder } });
    expect(other.exitCode).toBe(10);
    expect(other.stderr).not.toContain('not known');
  });
});

describe('the keys of the service are pinned', () => {
  const [older, newer, stranger] = ['old', 'new', 'stranger'].map((kid) => new ReceiptSigner(kid)) as [
    ReceiptSigner,
    ReceiptSigner,
    ReceiptSigner,
  ];
  const thumbprint = ({ jwk }: ReceiptSigner) => calculateJwkThumbprint(jwk);
  const endorsement = async (by: ReceiptSigner, next: ReceiptSigner, header: object = {}) =>
    by.sign({ jkt: await thumbprint(next) }, { typ: 'data-out-key+jwt', ...header }).toString();
  const home = () => ({ env: { HOME: folder } });
  const fetched = (...argv: string[]) => run(['download', '-o', 'data', '--all', '--force', ...argv], home());
  const pin = (...keys: readonly string[]) => run(['setup', '--receipt-keys', keys.join(',')], home());
  const pins = async (): Promise<string[]> =>
    JSON.parse(await readFile(join(folder, '.config/data-out/receipt-keys.json'), 'utf8'))[server.url];
  const signedBy = (signer: ReceiptSigner, header: object = {}) =>
    server.put(receiptName, signer.sign(receiptOf(files), header));

  beforeEach(async () => {
    server.keySet = { keys: [older.jwk] };
    signedBy(older);
    expect((await fetched()).exitCode).toBe(0);
  });

  test('at the first use, in a file that the user alone can read, and doctor shows them', async () => {
    const path = join(folder, '.config/data-out/receipt-keys.json');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      [server.url]: [await thumbprint(older)],
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    server.keySet = { keys: [older.jwk, newer.jwk] };
    const { stdout } = await run(['doctor'], home());
    expect(stdout).toContain(`ok       receipts     trusted receipt keys: ${await thumbprint(older)}`);
    expect(stdout).toContain(`data-out setup --receipt-keys ${await thumbprint(older)},${await thumbprint(newer)}\n`);
  });

  test('a new key beside a pinned one does not count, until the command is given that the message shows', async () => {
    server.keySet = { keys: [older.jwk, stranger.jwk] };
    signedBy(stranger);
    const { exitCode, stderr } = await fetched();
    expect(stderr).toContain(`signed by a key that no pinned key has endorsed: ${await thumbprint(stranger)}`);
    expect(stderr).toContain('none verified; 2 without a receipt');
    expect(exitCode).toBe(10);
    expect((await run(['list', '--paths'], home())).stdout).not.toContain('/submitted/');
    const [, command = ''] = /data-out (setup --receipt-keys \S+)/.exec(stderr) ?? [];
    const both = await Promise.all([older, stranger].map(thumbprint));
    const stdout = `pinned receipt keys: ${both.join(', ')}\n`;
    expect(await run(command.split(' '), home())).toEqual({ exitCode: 0, stdout, stderr: '' });
    expect(await pins()).toEqual(both);
    expect((await fetched()).exitCode).toBe(0);
  });

  test('a key that a pinned one has endorsed counts, and is pinned from then on', async () => {
    server.keySet = { keys: [older.jwk, newer.jwk, stranger.jwk] };
    const endorsements = [await endorsement(older, newer), await endorsement(newer, stranger)];
    signedBy(stranger, { endorsements });
    expect((await fetched()).exitCode).toBe(0);
    expect(await pins()).toEqual(await Promise.all([older, newer, stranger].map(thumbprint)));
    signedBy(stranger);
    expect((await fetched()).exitCode).toBe(0);
  });

  test.each([
    ['alone', async () => [await endorsement(stranger, stranger)]],
    ['by a key that is not pinned', async () => [await endorsement(newer, stranger)]],
    ['for another key', async () => [await endorsement(older, newer)]],
    ['under the type of a receipt', async () => [await endorsement(older, stranger, { typ: 'data-out-delivery+jwt' })]],
    ['with a changed signature', async () => [`${(await endorsement(older, stranger)).slice(0, -8)}AAAAAAAA`]],
    [
      'by another key under the name of a pinned one',
      async () => [await endorsement(stranger, stranger, { kid: 'old' })],
    ],
    ['by nonsense', async () => ['', '.', 'a.b.c', `${'A'.repeat(40)}..`]],
  ])('an endorsement does not count: %s', async (_, endorsements) => {
    server.keySet = { keys: [older.jwk, newer.jwk, stranger.jwk] };
    signedBy(stranger, { endorsements: await endorsements() });
    const { exitCode, stderr } = await fetched();
    expect(stderr).toContain('no pinned key has endorsed');
    expect(exitCode).toBe(10);
  });

  test('a key that the user removes while a command runs endorses nothing from then on', async () => {
    server.keySet = { keys: [older.jwk, newer.jwk, stranger.jwk] };
    signedBy(newer, { endorsements: [await endorsement(older, newer)] });
    server.requests.length = 0;
    const own = await thumbprint(stranger);
    server.held = async (name) => {
      if (name !== receiptName) return;
      // The download has read the pins before it asks for the keys.
      await vi.waitFor(() => expect(server.count(/jwks/)).toBe(1));
      await pin(own);
    };
    expect(await fetched()).toMatchObject({ exitCode: 10, stderr: expect.stringContaining('no pinned key') });
    expect(await pins()).toEqual([own]);
  });

  test('changes at the same time are whole, and keep the keys of other services', async () => {
    const elsewhere = ['setup', '--receipt-keys', await thumbprint(stranger), '--url', 'https://other.example.org/v1'];
    await Promise.all([pin(await thumbprint(newer)), run(elsewhere, home())]);
    const path = join(folder, '.config/data-out/receipt-keys.json');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      [server.url]: [await thumbprint(newer)],
      'https://other.example.org/v1/': [await thumbprint(stranger)],
    });
    expect(await readdir(join(folder, '.config/data-out'))).toEqual(['receipt-keys.json']);
  });

  test('before the first use of a service, its keys can be pinned', async () => {
    await rm(join(folder, '.config'), { recursive: true });
    await pin(await thumbprint(newer));
    expect(await fetched()).toMatchObject({ exitCode: 10, stderr: expect.stringContaining('--receipt-keys') });
    server.keySet = { keys: [older.jwk, newer.jwk] };
    signedBy(newer);
    expect((await fetched()).exitCode).toBe(0);
    expect(await pins()).toEqual([await thumbprint(newer)]);
  });

  test('another form of a fingerprint or of the file is refused, and other answers beside the keys', async () => {
    for (const list of ['abc', '', `${await thumbprint(older)},`]) {
      expect(await pin(list)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--receipt-keys') });
    }
    const beside = ['setup', '--receipt-keys', await thumbprint(older), '--username', 'jane'];
    expect(await run(beside, home())).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--username') });
    await writeFile(join(folder, '.config/data-out/receipt-keys.json'), '{"a":[17]}');
    expect((await fetched()).exitCode).toBe(2);
  });
});

describe('a receipt in parts', () => {
  const firstPart = receiptName.replace('.delivery', '.part-1.delivery');
  const part = (number: number, others: Partial<DeliveryReceipt> = {}) =>
    server.put(
      number === 2 ? receiptName : firstPart,
      signer.sign(receiptOf([files[number - 1]!], { part: number, parts: 2, ...others })),
      new Date(1_700_000_000_000 + 1000 * (others.generation ?? 1)),
    );

  test('verifies the files of all parts, which are copied beside them, and counts as one', async () => {
    for (const number of [1, 2]) part(number);
    const { exitCode, stderr } = await download(names[0]);
    expect([exitCode, lastLine(stderr)]).toEqual([
      0,
      expect.stringMatching(/, 1 verified; receipt \S+ \(generation 1, complete\)$/),
    ]);
    expect(await inFolder()).toEqual([names[0], receiptName, firstPart].sort());
    await download(names[1]);
    expect(await verify()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 of 2 files verified') });
    expect((await run(['list'])).stdout).toContain(files[1]!.path);
  });

  test.each([
    ['a part is absent', () => {}],
    ['a part is of another generation', () => part(1, { generation: 2 })],
  ])('verifies nothing while %s, as if there were none yet', async (_, prepare) => {
    part(2);
    prepare();
    const said = `${receiptName}: this receipt is not whole, because the client found only 1 part of 2 in generation`;
    const { exitCode, stderr } = await download('--all');
    expect([exitCode, stderr]).toEqual([10, expect.stringMatching(/none verified; 2 without a receipt\n/)]);
    expect(stderr).toContain(said);
    const wait = await download('--wait', '--timeout', '1s');
    expect(wait.exitCode).toBe(11);
    await download('*.delivery.jws');
    for (const argv of [[], ['--partial']]) {
      expect(await verify(...argv)).toMatchObject({ exitCode: 10, stderr: expect.stringContaining(said) });
    }
    await rm(join(folder, 'data', names[0]));
    await rm(join(folder, 'data', names[1]));
    expect((await verify('--partial')).exitCode).toBe(10);
  });
});

describe('download --wait', () => {
  test('leaves receipts of other deliveries where they are, so that the folder can be verified', async () => {
    deliver();
    const listed = [await deliveredFile('EGAF9-x.c4gh', containers[0]!)];
    const other = receiptOf(listed, { jti: requestId(2), requested_at: '2026-09-20T10:00:00.000Z' });
    server.put('EGAF9-x.c4gh', containers[0]!);
    server.put(`EGAD00000000001-${requestId(2)}.delivery.jws`, signer.sign(other));
    await download('--wait');
    expect(await inFolder()).toEqual([receiptName, ...names]);
    expect((await verify()).exitCode).toBe(0);
    await download('EGAF9*');
    expect(await inFolder()).toHaveLength(5);
    expect((await verify()).exitCode).toBe(0);
  });

  test('waits for a receipt that the folder does not have; one whose files did not all come is resumed', async () => {
    deliver();
    server.put(names[1], Buffer.alloc(containers[1]!.length));
    expect((await download('--wait')).exitCode).toBe(10);
    server.put(names[1], containers[1]!);
    expect((await download('--wait', '--timeout', '1s')).exitCode).toBe(0);
    expect(await inFolder()).toEqual([receiptName, ...names]);
    // As decrypt --delete leaves the folder.
    for (const name of names) await rm(join(folder, 'data', name));
    expect((await download('--wait', '--timeout', '1s')).exitCode).toBe(11);
    deliverLater();
    expect((await download('--wait', '--timeout', '1s')).exitCode).toBe(0);
    expect(await inFolder()).toHaveLength(4);
  });

  test.each([
    ['no keys', undefined, 'there is no such path'],
    ['an empty key set', { keys: [] }, 'it has no key for ES256'],
  ])('says at once that a service with %s gives no receipt', async (_, keySet, why) => {
    server.keySet = keySet;
    const { exitCode, stdout, stderr } = await download('--wait');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('delivery receipts of this service cannot be verified: ');
    expect(stderr).toContain(why);
    expect(stderr).toContain('without --wait');
    expect(server.count(/files$/)).toBe(0);
  });

  const gone = ['--request', '--since', '--connections', '--no-sync', '--skip-existing', '--require-receipt'];
  test.each<[readonly string[], string]>([
    [['--wait', '--timeout', 'soon'], '--timeout'],
    [['--wait', '--timeout', '0h'], '--timeout'],
    [['--all', '--timeout', '1h'], '--wait'],
    [['--all', '--dataset', 'EGAD1'], 'not both'],
    [[], 'say what to download'],
    ...gone.map((option): [string[], string] => [['--all', option], 'unknown option']),
  ])('says what to correct in %j', async (argv, words) => {
    const { exitCode, stderr } = await download(...argv);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(words);
    expect(server.requests).toEqual([]);
  });
});

describe('verify', () => {
  test('compares the plaintext with a key, offline with a key set', async () => {
    deliver();
    await download('--all');
    await writeFile(join(folder, 'jwks.json'), JSON.stringify(signer.keySet));
    server.requests.length = 0;
    const { exitCode, stdout } = await verify('--keys', 'jwks.json', '--key', 'me.sec.pem', '--json');
    expect(rowsOf(stdout)).toMatchObject(names.map((name) => ({ name, state: 'plaintext', requestId: requestId(1) })));
    expect(exitCode).toBe(0);
    expect(server.requests).toEqual([]);
  });

  test('ends with 10, and says why, if a file differs, is missing or has expired', async () => {
    deliver();
    await download('--all');
    await writeFile(join(folder, 'data', names[0]), Buffer.alloc(containers[0]!.length));
    await rm(join(folder, 'data', names[1]));
    const missing = await verify('--json');
    expect(rowsOf(missing.stdout)).toMatchObject([{ state: 'differs' }, { state: 'not_downloaded' }]);
    expect(missing.exitCode).toBe(10);
    server.remove(names[1]);
    const expired = await verify();
    expect(expired.stdout).toMatch(/EGAF00000000002-b\.bam\.c4gh +expired/);
    expect(expired.stderr).toContain('0 of 2 files verified: 1 differs, 1 expired');
    expect(expired.exitCode).toBe(10);
  });

  test('with --partial is satisfied with what is here', async () => {
    const missing = [{ file_id: 'EGAF00000000003', path: '/c', reason: 'given_up' }];
    deliver({ complete: false, missing });
    await download(names[0]);
    const strict = await verify();
    expect(strict.exitCode).toBe(10);
    expect(strict.stdout).toMatch(/EGAF00000000002-b\.bam\.c4gh +not downloaded/);
    expect(strict.stderr).toContain('1 of 3 files verified: 1 by bytes, 1 not downloaded, 1 undelivered\n');
    const partial = await verify('--partial');
    expect(partial.exitCode).toBe(0);
    expect(lastLine(partial.stderr)).toBe('1 of 1 files verified: 1 by bytes, 1 not downloaded, 1 undelivered');
    // Begun, and offline.
    await writeFile(join(folder, 'jwks.json'), JSON.stringify(signer.keySet));
    await writeFile(join(folder, 'data', `${names[1]}.part`), '');
    expect((await verify('--partial', '--keys', 'jwks.json')).stdout).toMatch(/b\.bam\.c4gh +not downloaded/);
    await writeFile(join(folder, 'data', names[1]), Buffer.alloc(containers[1]!.length));
    expect((await verify('--partial')).exitCode).toBe(10);
    await rm(join(folder, 'data', names[1]));
    await writeFile(join(folder, 'data', 'EGAF9-other.c4gh'), 'of no receipt');
    expect((await verify('--partial')).exitCode).toBe(10);
  });

  test('does not need a visa; then what has expired is missing', async () => {
    deliver();
    await download(names[0]);
    server.remove(names[1]);
    const env = { DATA_OUT_VISA: '', DATA_OUT_USERNAME: '', DATA_OUT_PASSWORD: '' };
    const { exitCode, stderr, stdout } = await run(['verify', 'data'], { env });
    expect(stdout).toMatch(/EGAF00000000002-b\.bam\.c4gh +missing/);
    expect(stderr).toContain('without --visa');
    expect(exitCode).toBe(10);
  });

  test('relies on no receipt that is not genuine', async () => {
    deliver();
    await download('--all');
    await writeFile(join(folder, 'data', receiptName), new ReceiptSigner().sign(receiptOf(files)));
    const { exitCode, stdout, stderr } = await verify('--json');
    expect(stderr).toContain(`${receiptName}: the signature of the receipt is not valid`);
    expect(rowsOf(stdout)).toMatchObject([{ state: 'no_receipt' }, { state: 'no_receipt' }]);
    expect(exitCode).toBe(10);
  });
});

describe('list', () => {
  const now = () => new Date('2026-12-19T12:00:00Z');

  test('warns of files that expire within three days, also with --quiet', async () => {
    deliver();
    const warning = '2 files expire within 3 days, the first at 2026-12-22 00:00 UTC: download soon';
    expect((await run(['list', '--quiet'], { now })).stderr).toBe(`warning: ${warning}\n`);
    server.expires = '2026-12-22T12:00:01.000Z';
    expect((await run(['list', '--quiet'], { now })).stderr).toBe('');
  });

  test('hides receipts and counts them', async () => {
    deliver();
    const early = () => new Date('2026-11-01T00:00:00Z');
    const { stdout, stderr } = await run(['list'], { now: early });
    expect(stdout).not.toContain(receiptName);
    const bytes = (containers[0]!.length + containers[1]!.length) / 1024;
    expect(stderr).toBe(`2 files, ${bytes.toFixed(1)} KiB; 1 receipt (--receipts shows it)\n`);
    expect(rowsOf((await run(['list', '--json'], { now: early })).stdout).map(({ name }) => name)).toEqual(names);
    deliverLater();
    for (const name of names) server.remove(name);
    const rest = await run(['list'], { now: early });
    expect(rest).toMatchObject({ stdout: '', stderr: 'no files are staged; 2 receipts (--receipts shows them)\n' });
  });

  describe('shows the submitted paths', () => {
    const early = { now: () => new Date('2026-11-01T00:00:00Z') };
    const list = (...argv: string[]) => run(['list', ...argv], early);
    const cells = (stdout: string) => stdout.split('\n').map((line) => line.split(/ {2,}/).slice(4));

    test('from the receipts, and "-" where there is none', async () => {
      server.put(receiptName, signer.sign(receiptOf(files.slice(0, 1))));
      const { stdout, stderr } = await list();
      expect(cells(stdout)).toEqual([['PATH'], [`/submitted/${names[0]}`], ['-'], []]);
      expect(stderr).toMatch(/^2 files, .*\n$/);
      expect(cells((await list('--receipts')).stdout)[3]).toEqual(['receipt']);
      expect(rowsOf((await list('--json')).stdout).map(({ path }) => path)).toEqual([`/submitted/${names[0]}`, null]);
    });

    test('and without receipts there is no such column, and no request for keys', async () => {
      server.requests.length = 0;
      expect((await list()).stdout.split('\n')[0]).toMatch(/ EXPIRES$/);
      expect(server.requests).toEqual(['GET /v1/files']);
    });

    test.each([
      [
        'the service has no keys',
        () => (server.keySet = undefined),
        /warning: some submitted paths are not shown: .*no such path/,
      ],
      [
        'a receipt is not genuine',
        () => deliver({}, new ReceiptSigner('other')),
        /warning: EGAD.*: the receipt is signed/,
      ],
      [
        'storage does not answer in time',
        () => vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(AbortSignal.abort()),
        /warning: some submitted paths are not shown: the delivery receipts did not arrive within 10 s\. --paths waits longer\.\n/,
      ],
    ])('unless %s: then the listing is shown all the same', async (_, spoil, said) => {
      deliver();
      spoil();
      const { exitCode, stdout, stderr } = await list();
      expect(exitCode).toBe(0);
      expect(stdout.split('\n')[0]).toMatch(/ EXPIRES$/);
      expect(stdout).toContain(names[0]);
      expect(stderr).toMatch(said);
    });

    test('of at most 20 receipts, unless they are asked for', async () => {
      const put = (number: number) =>
        server.put(
          `EGAD00000000001-${requestId(number)}.delivery.jws`,
          signer.sign(receiptOf(files.slice(0, 1), { jti: requestId(number) })),
        );
      for (let number = 1; number <= 20; number += 1) put(number);
      const path = `/submitted/${names[0]}`;
      expect(cells((await list()).stdout)[1]).toEqual([path]);
      put(21);
      const { stdout, stderr } = await list();
      expect(stdout).not.toContain(path);
      expect(stderr).toMatch(/ 21 delivery receipts were not read \(.* KiB\)\. --paths reads all\.\n/);
      expect(cells((await list('--paths')).stdout)[1]).toEqual([path]);
    });
  });
});
