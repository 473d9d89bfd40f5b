import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { generatedPlaintext } from '../../../../helpers/crypt4gh-vectors.ts';
import { blocksOf } from '../../../../helpers/pages.ts';
import { type RunningServe, startServe } from '../../../../helpers/running-serve.ts';

/** `data-out serve` on a folder. */

const plaintext = generatedPlaintext('serve', 200_000);
const mine = generateKeyPair();
const running: RunningServe[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-serve-'));
  await writeFile(join(folder, 'visa.jwt'), 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl');
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(mine.privateKey), { mode: 0o600 });
  await mkdir(join(folder, 'data/runs'), { recursive: true });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.end()));
  await rm(folder, { recursive: true });
});

async function start(...argv: string[]): Promise<RunningServe> {
  const served = await startServe(argv, { folder });
  running.push(served);
  return served;
}
const local = (...argv: string[]) => start('data', '--key', 'me.sec.pem', ...argv);
const names = async (url: string) => {
  const page = await (await fetch(url)).text();
  const links = [...page.matchAll(/href="\.\/([^"]*)"/g)].map(([, link = '']) => link);
  return [links.filter((link) => link.endsWith('/')), links.filter((link) => !link.endsWith('/'))];
};

describe('a folder', () => {
  beforeEach(async () => {
    await writeFile(join(folder, 'data/runs/one.bam.c4gh'), await containerOf(plaintext, mine.publicKey));
    await writeFile(join(folder, 'data/foreign.c4gh'), await containerOf(plaintext, generateKeyPair().publicKey));
    await writeFile(join(folder, 'data/two.c4gh.part'), 'x');
    await writeFile(join(folder, 'data/.hidden.c4gh'), 'x');
    await symlink('/etc', join(folder, 'data/etc'));
    await symlink(join(folder, 'visa.jwt'), join(folder, 'data/visa.c4gh'));
  });

  test('shows its containers by the names of their plaintexts, and follows no link', async () => {
    const { url } = await local();
    expect(await names(url)).toEqual([['runs/'], ['foreign']]);
    expect(await names(`${url}runs/`)).toEqual([[], ['one.bam']]);
    const whole = await (await fetch(`${url}runs/one.bam`)).arrayBuffer();
    expect(Buffer.from(whole).equals(plaintext)).toBe(true);
    for (const path of ['etc/', 'etc/passwd', 'visa', 'runs/one.bam.c4gh', 'foreign/x', 'runs/..%2fforeign']) {
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 404]);
    }
  });

  test('shows what is not a container as it is when asked, so that an index is found', async () => {
    const bai = Buffer.from('not encrypted');
    await writeFile(join(folder, 'data/runs/one.bam.bai'), bai);
    await writeFile(join(folder, 'data/runs/one.bam'), 'the container wins');
    await symlink(join(folder, 'visa.jwt'), join(folder, 'data/runs/link'));
    expect((await fetch(`${(await local()).url}runs/one.bam.bai`)).status).toBe(404);
    const { url } = await local('--plain');
    expect(await names(`${url}runs/`)).toEqual([[], ['one.bam', 'one.bam.bai']]);
    const index = `${url}runs/one.bam.bai`;
    const { headers } = await fetch(index, { method: 'HEAD' });
    expect(headers.get('content-length')).toBe(String(bai.length));
    expect(await (await fetch(index)).text()).toBe('not encrypted');
    const range = { range: 'bytes=4-7', 'if-range': headers.get('etag') ?? '' };
    const part = await fetch(index, { headers: range });
    expect([part.status, await part.text()]).toEqual([206, 'encr']);
    expect(Buffer.from(await (await fetch(`${url}runs/one.bam`)).arrayBuffer()).equals(plaintext)).toBe(true);
    await writeFile(join(folder, 'data/runs/one.bam.bai'), '');
    const empty = await fetch(index);
    expect(await empty.text()).toBe('');
    const { mtime } = await stat(join(folder, 'data/runs/one.bam.bai'));
    expect(empty.headers.get('last-modified')).toBe(mtime.toUTCString());
  });

  test('gives a replaced file again, under another tag', async () => {
    const { url } = await local();
    const one = `${url}runs/one.bam`;
    const { mtime } = await stat(join(folder, 'data/runs/one.bam.c4gh'));
    const { headers } = await fetch(one, { method: 'HEAD' });
    expect(headers.get('last-modified')).toBe(mtime.toUTCString());
    const etag = headers.get('etag') ?? '';
    const other = plaintext.toReversed();
    await writeFile(join(folder, 'data/new'), await containerOf(other, mine.publicKey));
    await rename(join(folder, 'data/new'), join(folder, 'data/runs/one.bam.c4gh'));
    const reply = await fetch(one, { headers: { range: 'bytes=0-9', 'if-range': etag } });
    expect([reply.status, Buffer.from(await reply.arrayBuffer()).equals(other)]).toEqual([200, true]);
  });
});

describe('a run', () => {
  const [page] = blocksOf('docs/researchers.md').filter(({ section }) => section === 'Read files without opening them');
  const lines = page?.text.trim().split('\n') ?? [];

  test.each(lines.map((line) => line.replace(/ *#.*$/, '')))('begins as the page says: %s', async (line) => {
    const [program, command, ...argv] = line.split(' ');
    expect([program, command]).toEqual(['data-out', 'serve']);
    expect((await fetch((await start(...argv)).url)).status).toBe(200);
  });

  test('ends by Ctrl-C with exit code 0, and prints its address alone on standard output', async () => {
    const served = await local();
    const { exitCode } = await served.end();
    expect([exitCode, served.url]).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/)]);
    await expect(fetch(served.url)).rejects.toThrow();
  });
});
