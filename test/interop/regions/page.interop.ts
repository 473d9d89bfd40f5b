import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { ArchivedGenomes } from './archived-genomes.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/regions.md'), 'utf8');
const blocks = [...page.matchAll(/^```(sh|python) (\w+).*\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', needs, text = '']) => ({
    language,
    text,
    /** The programs of PyPI are in a folder that `.ci/interop-regions` makes. */
    isForPython: needs === 'pysam' || needs === 'htsget',
    title: text.split('\n').find((line) => /samtools|bcftools|pysam|htsget|curl/.test(line)) ?? text,
  }),
);
const python = process.env.REGIONS_PYTHON;

let archived: ArchivedGenomes;
beforeAll(async () => {
  archived = await ArchivedGenomes.make();
});
afterAll(() => archived?.remove());

test.each(blocks.filter(({ isForPython }) => !isForPython || python !== undefined))(
  'the commands of the page: $title',
  async ({ language, text }) => {
    const cwd = await mkdtemp(join(archived.folder, 'page-'));
    await writeFile(join(cwd, 'visa.jwt'), await archived.service.visa());
    await writeFile(join(cwd, 'me.pub.pem'), formatPublicKey(generateKeyPair().publicKey));
    const env = {
      PATH: [python, process.env.PATH].filter(Boolean).join(':'),
      DIRECT: archived.service.connection.dataOutUrl.replace(/\/$/, ''),
      FILE_ID: archived.fileId('bai.bam'),
      VARIANTS_ID: archived.fileId('tbi.vcf.gz'),
      HTS_AUTH_LOCATION: 'visa.jwt',
      // The engine speaks HTTP.
      HTS_ALLOW_UNENCRYPTED_AUTHORIZATION_HEADER: 'I understand the risks',
    };
    const [program, ...options] =
      language === 'sh' ? (['bash', '-euo', 'pipefail', '-c'] as const) : (['python', '-c'] as const);
    const { stdout } = await promisify(execFile)(program, [...options, text], { cwd, env, maxBuffer: 2 ** 28 });
    const written = (await readdir(cwd)).filter((name) => /^(region|ticket)\./.test(name));
    // Records on standard output, or a file of the name that the page gives it.
    expect(stdout.length + written.length).toBeGreaterThan(0);
  },
);

test('the page has commands for samtools, bcftools, pysam, htsget and curl', () => {
  const text = blocks.map((block) => block.text).join('');
  for (const tool of ['samtools view', 'bcftools view', 'pysam', 'htsget -r', 'curl']) expect(text).toContain(tool);
});
