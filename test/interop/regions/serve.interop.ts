import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../helpers/client-world.ts';
import { answers, digest, parsed, within } from '../../helpers/region-answers.ts';
import { recordsOf, vector } from '../../helpers/region-files.ts';
import { type RunningServe, startServe } from '../../helpers/running-serve.ts';

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
  for (const [data, kind] of Object.entries(files)) {
    await writeFile(join(folder, `${data}.c4gh`), await containerOf(vector(data), keys.publicKey));
    // samtools also makes an index of a local file, which is not encrypted.
    const index = `${data}.${kind}`;
    if (kind === 'bai') await writeFile(join(folder, index), vector(index));
    else await writeFile(join(folder, `${index}.c4gh`), await containerOf(vector(index), keys.publicKey));
  }
  served = await startServe(['.', '--key', 'me.sec.pem', '--plain'], { folder });
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

test.each(Object.keys(files))('with the index beside it they find a region of %s', async (name) => {
  const text = 'one:99001-100000';
  const bytes = await read(name, `${served.url}${name}`, text);
  const found = recordsOf(/am$/.test(name) ? 'BAM' : 'VCF', bytes);
  expect(digest(within(found, parsed(text)))).toEqual(answers[name]?.[text]);
});

// Only the superuser can become another one.
test.runIf(process.getuid?.() === 0)('another user of this machine is refused, with the address and all', async () => {
  const asked = ['-s', '-o', '/dev/null', '-w', '%{http_code}', `${served.url}reads.bam`];
  const status = async (uid: number) => (await run('curl', asked, { uid, cwd: '/' })).stdout;
  expect([await status(0), await status(65_534)]).toEqual(['200', '403']);
});
