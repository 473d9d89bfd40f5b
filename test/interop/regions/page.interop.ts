import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decrypt, formatPublicKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { type Genome, genomes, recordsOf, shell } from '../../helpers/genomes.ts';
import { tools } from '../../helpers/region-tools.ts';
import type { RunningServe } from '../../helpers/running-serve.ts';
import { ArchivedGenomes } from './archived-genomes.ts';
import { fetchedParts } from './joined.ts';

/** The commands for regions in docs/clients.md: each gets the records that htslib reads from the plain file. */

const [, page = ''] = readFileSync(join(import.meta.dirname, '../../../docs/clients.md'), 'utf8').split(/^## Regions/m);
const blocks = [...page.matchAll(/^```(sh|python) (\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', kind = '', text = '']) => ({ language, kind, text }),
);
/** What `.ci/interop-regions` says that it lacks is not run. */
const missing = new Set([...(tools.python ? [] : ['pysam', 'htsget']), ...(tools.rclone ? [] : ['folder'])]);
const run = blocks.filter(({ kind }) => !missing.has(kind));
const keys = generateKeyPair();
const region = 'chr1:500001-600000';

let archived: ArchivedGenomes;
let served: RunningServe;
beforeAll(async () => {
  archived = await ArchivedGenomes.shared();
  served = await archived.serve();
});
afterAll(() => served?.end());

function genomeOf(data: string): Genome {
  const found = genomes.find((genome) => genome.data === data);
  if (!found) throw new Error(`there is no ${data}`);
  return found;
}

/** What a command leaves: a file of the name that the page gives it, the pieces of a ticket, or reads on standard output. */
async function fileOf(cwd: string, stdout: string): Promise<string> {
  const written = await readdir(cwd);
  const file = written.find((name) => /^region\.(bam|vcf\.gz)$/.test(name));
  if (file) return file;
  if (written.includes('ticket.json')) {
    const container = await fetchedParts(readFileSync(join(cwd, 'ticket.json'), 'utf8'));
    await writeFile(join(cwd, 'ticket.bam'), decrypt([container], { privateKeys: [keys.privateKey] }));
    return 'ticket.bam';
  }
  const header = await shell(archived.folder, 'samtools view -H --no-PG bai.bam');
  await writeFile(join(cwd, 'printed.sam'), header + stdout);
  await shell(cwd, 'samtools view -b -o printed.bam printed.sam');
  return 'printed.bam';
}

test.each(run)('the commands of the page, $kind: $text', async ({ language, kind, text }) => {
  const cwd = await mkdtemp(join(archived.folder, 'page-'));
  await writeFile(join(cwd, 'visa.jwt'), await archived.service.visa());
  await writeFile(join(cwd, 'me.pub.pem'), formatPublicKey(keys.publicKey));
  const env = {
    PATH: [tools.python, process.env.PATH].filter(Boolean).join(':'),
    DIRECT: archived.service.connection.dataOutUrl.replace(/\/$/, ''),
    SERVED: served.url,
    FILE_ID: archived.fileId('bai.bam'),
    VARIANTS_ID: archived.fileId('tbi.vcf.gz'),
    FILE: 'bai.bam',
    HTS_AUTH_LOCATION: 'visa.jwt',
    // The engine speaks HTTP.
    HTS_ALLOW_UNENCRYPTED_AUTHORIZATION_HEADER: 'I understand the risks',
  };
  const [program, ...options] =
    language === 'sh' ? (['bash', '-euo', 'pipefail', '-c'] as const) : (['python', '-c'] as const);
  const { stdout } = await promisify(execFile)(program, [...options, text], { cwd, env, maxBuffer: 2 ** 28 });
  const genome = genomeOf(kind === 'variants' ? 'tbi.vcf.gz' : 'bai.bam');
  const file = await fileOf(cwd, stdout);
  for (const one of kind === 'several' ? [region, 'chr2:1-200000'] : [region]) {
    expect(await recordsOf(cwd, file, genome, one)).toBe(await recordsOf(archived.folder, genome.data, genome, one));
  }
});

test('the page shows each kind of command, and a first example within ten lines', () => {
  expect(new Set(blocks.map(({ kind }) => kind))).toEqual(
    new Set(['reads', 'variants', 'pysam', 'htsget', 'several', 'encrypted', 'served', 'folder']),
  );
  expect(page.split('\n').slice(0, 10).join('\n')).toContain('samtools view');
});
