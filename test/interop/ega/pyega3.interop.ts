import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serverFile } from '../../../lib/ops/commands/server-file.ts';
import { copyWithSettings } from '../../helpers/assembly-with-settings.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { Service } from '../../helpers/service.ts';
import { runProgram } from './program.ts';

/** pyEGA3 lists, downloads, resumes and reads regions, by both versions of its server file. */

const program = process.env.PYEGA3;
if (program === undefined) throw new Error('PYEGA3 names the program of pyEGA3');
const dataset = 'EGAD00000000001';
const ids = {
  text: 'EGAF00000000001',
  reads: 'EGAF00000000002',
  index: 'EGAF00000000003',
  variants: 'EGAF00000000004',
};
const vectors = join(import.meta.dirname, '../../vectors/regions');
const size = 2_500_000;
let folder: string;
let service: Service;
let plaintext: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-pyega3-'));
  await copyWithSettings(join(folder, 'assembly'), { compatibility: ['ega'] });
  service = await Service.start({ assemblyDir: join(folder, 'assembly') });
  plaintext = await collect(bytesOf({ path: 'study/text.txt', size }));
  await service.archiveBytes(dataset, 'study/text.txt', bytesOf({ path: 'study/text.txt', size }), ids.text);
  const others = [
    ['reads.bam', ids.reads],
    ['reads.bam.bai', ids.index],
    ['variants.vcf.gz', ids.variants],
    ['variants.vcf.gz.tbi', 'EGAF00000000005'],
  ] as const;
  for (const [name, id] of others) {
    await service.archiveBytes(dataset, `study/${name}`, createReadStream(join(vectors, name)), id);
  }
  await service.setDataset(dataset, 'released');
  const md5 = createHash('md5').update(plaintext).digest('hex');
  await service.sql(`insert into sda.checksums (file_id, checksum, type, source)
    select id, '${md5}', 'MD5', 'UNENCRYPTED' from sda.files where stable_id = '${ids.text}'`);
}, 300_000);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs it in a folder. @returns what it said */
async function pyega3(cwd: string, version: 1 | 2, argv: readonly string[], visa?: string): Promise<string> {
  const server = serverFile(service.connection.dataOutUrl.replace(/\/$/, ''), version);
  const password = visa ?? (await service.visa({ datasetId: dataset }));
  await writeFile(join(cwd, 'server.json'), JSON.stringify(server));
  await writeFile(join(cwd, 'visa.json'), JSON.stringify({ username: 'me', password }));
  return await runProgram(program ?? '', ['-cf', 'visa.json', '-sf', 'server.json', ...argv], cwd);
}
const work = () => mkdtemp(join(folder, 'work-'));
const once = ['--max-retries', '0', '--retry-wait', '1'];

test.each([1, 2] as const)('version %i lists datasets and files', async (version) => {
  const cwd = await work();
  expect(await pyega3(cwd, version, ['datasets'])).toMatch(new RegExp(`${dataset}$`, 'm'));
  const files = await pyega3(cwd, version, ['files', dataset]);
  for (const name of ['text.txt', 'reads.bam', 'variants.vcf.gz']) expect(files).toContain(` ${name}\n`);
  expect(files).toContain(String(size + 16));
});

test.each([1, 2] as const)('version %i fetches a file, checks its MD5, and finds it again', async (version) => {
  const cwd = await work();
  expect(await pyega3(cwd, version, ['fetch', ids.text, ...once])).toContain('Download complete');
  expect(await readFile(join(cwd, ids.text, 'text.txt'))).toEqual(plaintext);
  expect(await pyega3(cwd, version, ['fetch', ids.text, ...once])).toContain('Local file exists');
});

test('fetches a whole dataset', async () => {
  const cwd = await work();
  await pyega3(cwd, 2, ['fetch', dataset, ...once]);
  for (const [id, name] of [[ids.reads, 'reads.bam'] as const, [ids.variants, 'variants.vcf.gz'] as const]) {
    expect(await readFile(join(cwd, id, name))).toEqual(await readFile(join(vectors, name)));
  }
});

test('fetches a file of several slices over several connections, unless a slice is larger than a reply can be', async () => {
  const large = { path: 'large/file.bin', size: 210_000_000 };
  await service.archiveBytes('EGAD00000000002', large.path, bytesOf(large), 'EGAF00000000006');
  await service.setDataset('EGAD00000000002', 'released');
  const visa = await service.visa({ datasetId: 'EGAD00000000002' });
  const cwd = await work();
  const fetched = (...options: string[]) => pyega3(cwd, 2, [...options, 'fetch', 'EGAF00000000006', ...once], visa);
  expect(await fetched('-ms', '205000000')).toContain('413 Client Error');
  expect(await fetched('-c', '8')).toContain('Download complete');
  const hash = createHash('sha256');
  for await (const bytes of bytesOf(large)) hash.update(bytes);
  const saved = createHash('sha256').update(await readFile(join(cwd, 'EGAF00000000006/file.bin')));
  expect(saved.digest('hex')).toBe(hash.digest('hex'));
}, 300_000);

test('resumes with the slices that it has', async () => {
  const cwd = await work();
  let served = 0;
  const heal = service.engine.traffic.addFault(({ caller, service: name, action }) => {
    if (caller !== 'direct-file' || name !== 's3' || action !== 'HeadObject') return undefined;
    served += 1;
    return served > 2 ? { error: { status: 403, code: 'AccessDenied' } } : undefined;
  });
  const slices = ['-ms', '1000000', 'fetch', ids.text, ...once];
  await pyega3(cwd, 2, slices).finally(heal);
  const kept = (await readdir(join(cwd, ids.text, '.tmp_download'))).filter((name) => name.endsWith('.slice'));
  expect(kept).toHaveLength(2);
  const before = service.calls('direct-file s3 HeadObject');
  await pyega3(cwd, 2, slices);
  expect(service.calls('direct-file s3 HeadObject') - before).toBe(1);
  expect(await readFile(join(cwd, ids.text, 'text.txt'))).toEqual(plaintext);
});

test.each([
  [1, ids.reads, 'BAM'],
  [2, ids.reads, 'BAM'],
  [1, ids.variants, 'VCF'],
  [2, ids.variants, 'VCF'],
] as const)('version %i reads a region of %s', async (version, id, format) => {
  const cwd = await work();
  const region = ['-r', 'one', '-s', '1000', '-e', '20000', '-f', format];
  const said = await pyega3(cwd, version, ['fetch', id, ...region, ...once]);
  const name = (await readdir(join(cwd, id))).find((each) => each.includes('genomic_range')) ?? said;
  const tool = format === 'BAM' ? ['samtools', 'view', '-c'] : ['bcftools', 'view', '-H'];
  const whole = join(vectors, format === 'BAM' ? 'reads.bam' : 'variants.vcf.gz');
  const [command = '', ...options] = tool;
  // A ticket can have neighbours of the region.
  const region1 = format === 'BAM' ? ['one:1001-20000'] : ['-t', 'one:1001-20000'];
  const expected = await runProgram(command, [...options, whole, ...region1], cwd);
  const got = await runProgram(command, [...options, join(cwd, id, name), ...(format === 'BAM' ? [] : region1)], cwd);
  if (format === 'BAM') expect(Number(got)).toBeGreaterThanOrEqual(Number(expected));
  else expect(got).toBe(expected);
  expect(expected.trim()).not.toMatch(/^0?$/);
});

test.each([
  ['what is not a visa', () => 'wrong'],
  ['an expired visa', () => service.visa({ datasetId: dataset, claims: { exp: 1_700_000_000 } })],
  ['a visa that no header can carry', () => service.visa({ claims: { note: 'x'.repeat(9_000) } })],
])('does not list with %s as the password', async (_, visa) => {
  const said = await pyega3(await work(), 2, ['datasets'], await visa());
  expect(said).toContain('400 Client Error');
  expect(said).not.toContain(`${dataset}\n`);
});

test('another dataset’s visa opens no file', async () => {
  const visa = await service.visa({ datasetId: 'EGAD00000000009' });
  expect(await pyega3(await work(), 2, ['fetch', ids.text, ...once], visa)).toContain('403 Client Error');
});
