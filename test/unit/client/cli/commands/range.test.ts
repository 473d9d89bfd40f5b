import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encrypt, formatPrivateKey, formatPublicKey, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { collect } from '../../../../helpers/crypt4gh-vectors.ts';
import { inputOf } from '../../../../helpers/ops-world.ts';

const me = generateKeyPair();
const plaintext = Buffer.from(Array.from({ length: 150_000 }, (_, index) => index % 251));
let container: Buffer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-range-'));
  container = Buffer.from(await collect(encrypt([plaintext], { recipients: [me.publicKey] })));
  await writeFile(join(folder, 'me.sec'), await formatPrivateKey(me.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'me.pub'), formatPublicKey(me.publicKey));
  await writeFile(join(folder, 'sample'), plaintext);
  await writeFile(join(folder, 'sample.c4gh'), container);
});
afterAll(() => rm(folder, { recursive: true }));

const run = (argv: readonly string[], input?: Uint8Array) =>
  runCli(argv, { folder, ...(input && { input: inputOf(input) }) });

const encrypting = ['encrypt', '-r', 'me.pub', '-o', '-'];
const decrypting = ['decrypt', '--key', 'me.sec', '-o', '-'];

describe.each(['5-5', '9-3', 'a-b', '-5', '1', '0-99999999999999999'])('--range=%s is refused alike by', (range) => {
  test.each([[encrypting], [decrypting]])('%j', async (argv) => {
    const before = await readdir(folder);
    const { exitCode, stdout, stderr } = await run([...argv, `--range=${range}`]);
    expect({ exitCode, stdout: stdout.toString(), stderr }).toEqual({
      exitCode: 2,
      stdout: '',
      stderr:
        'data-out: --range: expected a-b or a-: bytes a to b-1, counted from 0\n' + 'The first 100 bytes are 0-100.\n',
    });
    expect(await readdir(folder)).toEqual(before);
  });
});

describe.each(['150000-150001', '150000-', '999999-'])('--range %s begins after the end, says', (range) => {
  const refusal = {
    exitCode: 2,
    stderr:
      'data-out: --range: the range begins after the end: the file has 150000 bytes\n' +
      'Give a range that begins before its end.\n',
  };

  test.each([[[...encrypting, 'sample']], [[...decrypting, 'sample.c4gh']]])('%j', async (argv) => {
    const { exitCode, stdout, stderr } = await run([...argv, '--range', range]);
    expect({ exitCode, stderr }).toEqual(refusal);
    expect(stdout.length).toBe(0);
  });

  test('each of them about a pipe', async () => {
    const runs = [
      await run([...encrypting, '--range', range, '-'], plaintext),
      await run([...decrypting, '--range', range, '-'], container),
    ];
    for (const { exitCode, stderr } of runs) expect({ exitCode, stderr }).toEqual(refusal);
  });
});

test.each([
  ['65535-65537', 65_535, 65_537],
  ['149999-150009', 149_999, 150_000],
  ['100-', 100, 150_000],
])('--range %s selects the same bytes everywhere', async (range, start, end) => {
  const expected = plaintext.subarray(start, end);
  const opened = async (sealed: Uint8Array) => (await run([...decrypting, '-'], sealed)).stdout;
  const option = ['--range', range];
  expect((await run([...decrypting, ...option, 'sample.c4gh'])).stdout.equals(expected)).toBe(true);
  expect((await opened((await run([...encrypting, ...option, 'sample'])).stdout)).equals(expected)).toBe(true);
});
