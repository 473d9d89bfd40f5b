import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../helpers/client-world.ts';
import { type RunningServe, startServe } from '../../helpers/running-serve.ts';
import { answers, digest, parsed, within } from '../../unit/regions/answers.ts';
import { recordsOf, vector } from '../../unit/regions/files.ts';

/** samtools and bcftools read encrypted files at the address of `data-out serve`. */

const keys = generateKeyPair();
const run = promisify(execFile);
const make = fileURLToPath(new URL('../../vectors/regions/make.py', import.meta.url));
const files = {
  'reads.bam': 'bai',
  'spanning.bam': 'bai',
  'reads.cram': 'crai',
  'several.cram': 'crai',
  'variants.vcf.gz': 'tbi',
  'variants.bcf': 'csi',
} as const;
let folder: string;
let served: RunningServe;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'serve-interop-'));
  await writeFile(join(folder, 'reference.fa'), execFileSync('python3', [make, 'reference']));
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(keys.privateKey), { mode: 0o600 });
  for (const name of Object.entries(files).flatMap(([data, index]) => [data, `${data}.${index}`])) {
    await writeFile(join(folder, `${name}.c4gh`), await containerOf(vector(name), keys.publicKey));
  }
  served = await startServe(['.', '--key', 'me.sec.pem'], { folder });
});
afterAll(async () => {
  await served?.end();
  await rm(folder, { recursive: true });
});

/** BAM or compressed VCF of what a stock tool reads. */
async function read(name: string, address: string, ...regions: readonly string[]): Promise<Buffer> {
  const [tool, argv] = /am$/.test(name)
    ? ['samtools', ['view', '-b', '-T', 'reference.fa', address, ...regions]]
    : ['bcftools', ['view', '-O', 'z', address, ...regions]];
  const { stdout } = await run(tool as string, argv as string[], {
    cwd: folder,
    encoding: 'buffer',
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

// A GET has one region.
const cases = Object.keys(files).flatMap((name) =>
  Object.keys(answers[name] ?? {})
    .filter((text) => !text.includes(' '))
    .map((text) => [name, text] as const),
);

test.each(cases)('by htsget they find in %s what exists: %s', async (name, text) => {
  const regions = parsed(text);
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(regions[0] ?? {})) query.set(key, String(value));
  const kind = /am$/.test(name) ? 'reads' : 'variants';
  const bytes = await read(name, `${served.url}htsget/${kind}/folder/${name}?${query}`);
  const found = recordsOf(kind === 'reads' ? 'BAM' : 'VCF', bytes);
  expect(digest(within(found, regions))).toEqual(answers[name]?.[text]);
});

test.each(Object.keys(files))('by plain HTTP with the index beside it they find a region of %s', async (name) => {
  const text = 'one:99001-100000';
  const bytes = await read(name, `${served.url}folder/${name}`, text);
  const found = recordsOf(/am$/.test(name) ? 'BAM' : 'VCF', bytes);
  expect(digest(within(found, parsed(text)))).toEqual(answers[name]?.[text]);
});

// Only the superuser can become another one.
test.runIf(process.getuid?.() === 0)('another user of this machine is refused, with the address and all', async () => {
  const asked = ['-s', '-o', '/dev/null', '-w', '%{http_code}', `${served.url}folder/reads.bam`];
  const status = async (uid: number) => (await run('curl', asked, { uid, cwd: '/' })).stdout;
  expect([await status(0), await status(65_534)]).toEqual(['200', '403']);
});
