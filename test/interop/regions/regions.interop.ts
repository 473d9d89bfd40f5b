import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { decrypt, formatPrivateKey, formatPublicKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { type Genome, genomes, recordsOf, regions, shell } from '../../helpers/genomes.ts';
import { tools } from '../../helpers/region-tools.ts';
import { ArchivedGenomes } from './archived-genomes.ts';
import { joined } from './joined.ts';

let archived: ArchivedGenomes;
let visa: string;
let unencrypted: Readonly<Record<string, string>>;

beforeAll(async () => {
  archived = await ArchivedGenomes.shared();
  visa = await archived.service.visa();
  await writeFile(join(archived.folder, 'visa'), visa);
  // The engine speaks HTTP: htslib sends a token over it only when told so.
  unencrypted = {
    HTS_AUTH_LOCATION: join(archived.folder, 'visa'),
    HTS_ALLOW_UNENCRYPTED_AUTHORIZATION_HEADER: 'I understand the risks',
  };
});

const cases = genomes.flatMap((genome) => regions.map((region) => ({ genome, region, name: genome.data })));
/** One region of each file: what a tool does with the ticket is the same for all. */
const samples = cases.filter(({ region }) => region === 'chr1:500001-600000');

/** The query of a region that is written as htslib writes it: 1-based and inclusive there, 0-based and half-open here. */
function query({ format }: Genome, region: string) {
  const [, referenceName = '', first, end = ''] = /^(.*):(\d+)-(\d+)$/.exec(region) ?? [];
  return { format, referenceName, start: String(Number(first) - 1), end };
}

/** Where a tool writes: another file for each, in the format that was asked for. */
function outputOf(tool: string, { data }: Genome, region: string): string {
  return `${tool}-${region.replace(':', '-')}-${data}`;
}

/** That the records of the region are those of the plain file. A region may come with its neighbours. */
async function expectSame(genome: Genome, region: string, file: string): Promise<void> {
  const wanted = await recordsOf(archived.folder, genome.data, genome, region);
  expect(await recordsOf(archived.folder, file, genome, region)).toBe(wanted);
}

describe('a region in plaintext', () => {
  test.each(samples)('samtools and bcftools: $name $region', async ({ genome, region }) => {
    const file = outputOf('htslib', genome, region);
    const url = `${archived.ticket(genome)}?${new URLSearchParams(query(genome, region))}`;
    const option = { BAM: '-b', CRAM: '-C --output-fmt-option no_ref=1', VCF: '-O z', BCF: '-O b' }[genome.format];
    const program = genome.kind === 'reads' ? 'samtools' : 'bcftools';
    await shell(archived.folder, `${program} view ${option} -o ${file} '${url}'`, unencrypted);
    await expectSame(genome, region, file);
  });

  test.each(cases)('joined, as it comes: $name $region', async ({ genome, region }) => {
    const file = outputOf('joined', genome, region);
    const url = `${archived.ticket(genome)}?${new URLSearchParams(query(genome, region))}`;
    await writeFile(join(archived.folder, file), await joined(url, { Authorization: `Bearer ${visa}` }));
    await expectSame(genome, region, file);
  });

  test.skipIf(!tools.python).each(samples)('htsget of PyPI: $name $region', async ({ genome, region }) => {
    const file = outputOf('pypi', genome, region);
    const { referenceName, start, end } = query(genome, region);
    const url = archived.ticket(genome);
    await shell(
      archived.folder,
      `${tools.python}/htsget -f ${genome.format} -r ${referenceName} -s ${start} -e ${end} -b "$(cat visa)" -O ${file} ${url}`,
    );
    await expectSame(genome, region, file);
  });

  const pythonCases = samples.filter(({ genome }) => genome.kind === 'reads');
  test.skipIf(!tools.python).each(pythonCases)('pysam: $name $region', async ({ genome, region }) => {
    const file = outputOf('pysam', genome, region);
    const url = `${archived.ticket(genome)}?${new URLSearchParams(query(genome, region))}`;
    const program = `import pysam, sys
source = pysam.AlignmentFile(sys.argv[1], check_sq=False)
with pysam.AlignmentFile(sys.argv[2], 'wb', template=source) as target:
    for read in source.fetch(until_eof=True): target.write(read)`;
    await shell(archived.folder, `${tools.python}/python -c "${program}" '${url}' ${file}.bam`, unencrypted);
    await expectSame(genome, region, `${file}.bam`);
  });

  // The library takes seconds for each.
  const bams = samples.filter(({ name }) => name === 'bai.bam' || name === 'spanning.bam');
  test.skipIf(!tools.modules).each(bams)('@gmod/bam: $name $region', async ({ genome, region }) => {
    const { referenceName, start, end } = query(genome, region);
    const { HtsgetFile } = (await import(
      `${tools.modules}/@gmod/bam/esm/index.js`
    )) as typeof import('./gmod-bam.d.ts');
    const baseUrl = archived.ticket(genome).replace(/\/[^/]+$/, '');
    const bam = new HtsgetFile({ baseUrl, trackId: archived.fileId(genome.data) });
    const options = { headers: { Authorization: `Bearer ${visa}` } };
    await bam.getHeader(options);
    const names = (await bam.getRecordsForRange(referenceName, Number(start), Number(end), options)).map(
      ({ name }) => name,
    );
    const wanted = await shell(archived.folder, `samtools view ${genome.data} ${region} | cut -f 1`);
    // The library also gives the read that ends where the region begins.
    expect(names).toEqual(expect.arrayContaining(wanted.trim().split('\n')));
  });
});

describe('more than one region, and less', () => {
  test.each(genomes.filter(({ kind }) => kind === 'reads'))('unplaced reads of $data', async (genome) => {
    const file = `unplaced-${genome.data}`;
    const url = `${archived.ticket(genome)}?format=${genome.format}&referenceName=*`;
    await writeFile(join(archived.folder, file), await joined(url, { Authorization: `Bearer ${visa}` }));
    expect(await shell(archived.folder, `samtools view -f 4 ${file} | cut -f 1`)).toBe(
      await shell(archived.folder, `samtools view -f 4 ${genome.data} | cut -f 1`),
    );
  });

  test.each(genomes)('header of $data', async ({ kind, data, format }) => {
    const url = `${archived.ticket({ kind, data })}?format=${format}&class=header`;
    await writeFile(join(archived.folder, `header-${data}`), await joined(url, { Authorization: `Bearer ${visa}` }));
    const view = kind === 'reads' ? 'samtools view -H --no-PG' : 'bcftools view -h --no-version';
    expect(await shell(archived.folder, `${view} header-${data}`)).toBe(
      await shell(archived.folder, `${view} ${data}`),
    );
  });

  test.each(genomes)('the whole of $data', async (genome) => {
    const bytes = await joined(archived.ticket(genome), { Authorization: `Bearer ${visa}` });
    await writeFile(join(archived.folder, `whole-${genome.data}`), bytes);
    const view = genome.kind === 'reads' ? 'samtools view' : 'bcftools view -H';
    expect(await shell(archived.folder, `${view} whole-${genome.data} | sha256sum`)).toBe(
      await shell(archived.folder, `${view} ${genome.data} | sha256sum`),
    );
  });

  test.each(genomes)('all regions of $data in one POST', async (genome) => {
    const { format } = genome;
    const body = JSON.stringify({
      format,
      regions: regions.map((region) => {
        const { referenceName, start, end } = query(genome, region);
        return { referenceName, start: Number(start), end: Number(end) };
      }),
    });
    const headers = { Authorization: `Bearer ${visa}`, 'Content-Type': 'application/json' };
    const file = `many-${genome.data}`;
    await writeFile(
      join(archived.folder, file),
      await joined(archived.ticket(genome), headers, { method: 'POST', body }),
    );
    for (const region of regions) await expectSame(genome, region, file);
  });
});

describe('a region for the key of the caller', () => {
  const keys = generateKeyPair();

  // Where records span blocks, nearly the whole file comes. Which records come does not depend on the key.
  const chosen = cases.filter((one) => one.name === 'spanning.bam' || samples.includes(one));
  test.each(chosen)('decrypted here: $name $region', async ({ genome, region }) => {
    const container = await encrypted(genome, region);
    const file = outputOf('encrypted', genome, region);
    const plain = decrypt([container], { privateKeys: [keys.privateKey] });
    await writeFile(join(archived.folder, file), plain);
    await expectSame(genome, region, file);
  });

  test.skipIf(!tools.python).each(samples)(
    'decrypted by the Python reference: $name $region',
    async ({ genome, region }) => {
      const file = outputOf('reference', genome, region);
      await writeFile(join(archived.folder, `${file}.c4gh`), await encrypted(genome, region));
      await writeFile(join(archived.folder, 'key.sec'), await formatPrivateKey(keys.privateKey));
      await shell(archived.folder, `${tools.python}/crypt4gh decrypt --sk key.sec < ${file}.c4gh > ${file}`);
      await expectSame(genome, region, file);
    },
  );

  async function encrypted(genome: Genome, region: string): Promise<Buffer> {
    const url = `${archived.ticket(genome)}?${new URLSearchParams({ ...query(genome, region), encryptionScheme: 'crypt4gh' })}`;
    const key = Buffer.from(formatPublicKey(keys.publicKey)).toString('base64');
    return await joined(url, { Authorization: `Bearer ${visa}`, 'Htsget-Context-Public-Key': key });
  }
});
