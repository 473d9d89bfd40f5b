import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../lib/local/http.ts';
import { type Genome, genomes, htsjdk, recordsOf, regions, shell } from '../../helpers/genomes.ts';
import { tools } from '../../helpers/region-tools.ts';
import type { RunningServe } from '../../helpers/running-serve.ts';
import { until } from '../../helpers/service.ts';
import { ArchivedGenomes } from './archived-genomes.ts';
import { joined } from './joined.ts';

/**
 * Programs that send no credentials read tickets of the service through a server that adds them, and files at the address of
 * `data-out serve`; htsget-rs is an oracle.
 */

let archived: ArchivedGenomes;
let visa: string;
let served: RunningServe;
let authorizing: Server;

beforeAll(async () => {
  archived = await ArchivedGenomes.shared();
  visa = await archived.service.visa();
  authorizing = createServer(async ({ url = '' }, response) => {
    const asked = `${archived.service.connection.dataOutUrl.replace(/\/$/, '')}${url}`;
    const reply = await fetch(asked, { headers: { Authorization: `Bearer ${visa}` } });
    const type = reply.headers.get('content-type') ?? '';
    response.writeHead(reply.status, { 'Content-Type': type }).end(await reply.text());
  }).listen(0, '127.0.0.1');
  await once(authorizing, 'listening');
  served = await archived.serve();
});
afterAll(async () => {
  authorizing?.close();
  await served?.end();
});

/** Of tickets, without credentials. */
const htsget = () => `http://127.0.0.1:${(authorizing.address() as AddressInfo).port}/htsget/`;
const names = (lines: string) => lines.trim().split('\n').filter(Boolean).sort();
const bams = genomes.filter(({ format }) => format === 'BAM');
const region = 'chr1:500001-600000';

describe.skipIf(!tools.htsjdk)('htsjdk', () => {
  const wanted = async ({ data }: Genome) =>
    names(await shell(archived.folder, `samtools view ${data} ${region} | cut -f 1`));

  test.each(bams)('reads a region of $data by htsget', async (genome) => {
    const found = await htsjdk(archived.folder, `htsget '${htsget()}reads/${archived.fileId(genome.data)}' ${region}`);
    expect(names(found)).toEqual(await wanted(genome));
  });

  test.each(bams.filter(({ index }) => index.endsWith('.bam.bai')))(
    'reads a region of $data by ranges',
    async (genome) => {
      const found = await htsjdk(archived.folder, `http '${served.url}${genome.data}' ${region}`);
      expect(names(found)).toEqual(await wanted(genome));
    },
  );
});

describe.skipIf(!tools.noodles)('noodles', () => {
  test.each(bams)('joins a region of $data', async (genome) => {
    const file = `noodles-${genome.data}`;
    const id = archived.fileId(genome.data);
    await shell(archived.folder, `${tools.noodles} ${htsget()} ${id} ${region} > ${file}`);
    expect(await recordsOf(archived.folder, file, genome, region)).toBe(
      await recordsOf(archived.folder, genome.data, genome, region),
    );
  });
});

describe.skipIf(!tools.htsgetRs)('htsget-rs over the same files', () => {
  let server: ChildProcess;
  let address: string;

  beforeAll(async () => {
    const [tickets, data] = [await freePort([0]), await freePort([0])];
    const config = `
[ticket_server]
addr = "127.0.0.1:${tickets}"
[data_server]
addr = "127.0.0.1:${data}"
[[locations]]
[locations.location]
kind = "File"
scheme = "HTTP"
authority = "127.0.0.1:${data}"
local_path = "${archived.folder}"
`;
    const file = join(archived.folder, 'htsget-rs.toml');
    await writeFile(file, config);
    server = spawn(tools.htsgetRs ?? '', ['--config', file], { stdio: 'ignore' });
    address = `http://127.0.0.1:${tickets}`;
    await until(
      async () => (await fetch(`${address}/reads/service-info`).catch(() => undefined))?.ok || undefined,
      'htsget-rs to listen',
    );
  });
  afterAll(() => server?.kill());

  // It cuts where blocks end, which is right for files of samtools, whose blocks begin with records. For others it gives broken ones.
  const shared = genomes.filter(({ data }) => data === 'bai.bam' || data === 'reads.cram');
  const cases = shared.flatMap((genome) => regions.map((one) => ({ genome, one, name: genome.data })));

  test.each(cases)('gives the same records: $name $one', async ({ genome, one }) => {
    const [, referenceName = '', first, end = ''] = /^(.*):(\d+)-(\d+)$/.exec(one) ?? [];
    const query = new URLSearchParams({ format: genome.format, referenceName, start: `${Number(first) - 1}`, end });
    const id = genome.data.replace(/\.\w+$/, '');
    const [theirs, ours] = [`theirs-${id}-${genome.data}`, `ours-${id}-${genome.data}`];
    await writeFile(join(archived.folder, theirs), await joined(`${address}/${genome.kind}/${id}?${query}`, {}));
    const reply = await joined(`${archived.ticket(genome)}?${query}`, { Authorization: `Bearer ${visa}` });
    await writeFile(join(archived.folder, ours), reply);
    expect(await recordsOf(archived.folder, ours, genome, one)).toBe(
      await recordsOf(archived.folder, theirs, genome, one),
    );
  });
});
