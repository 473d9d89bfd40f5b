import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Service } from '../helpers/service.ts';

const objects = 'ga4gh/drs/v1/objects';
let service: Service;
let fileId: string;
let visa: string;
beforeAll(async () => {
  service = await Service.shared();
  ({ fileId } = await service.archive('EGAD1', 'a.vcf', 1000));
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
});
afterAll(() => service.stop());
beforeEach(() => service.engine.traffic.resetCounters());

const posted = (passports: readonly string[], path = `${objects}/${fileId}`) =>
  service.direct(path, undefined, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ passports }),
  });
/** AWS calls of the function since the test began. */
const calls = () => Object.keys(service.engine.traffic.counters()).filter((name) => name.startsWith('drs '));

test.each(['GET', 'POST'])(
  'a client that knows nothing of this service gets the bytes: %s of object, access id, URL with its headers',
  async (method) => {
    const ask = async (path: string) =>
      JSON.parse((await (method === 'GET' ? service.direct(path, visa) : posted([visa], path))).text);
    const { access_methods, size, checksums, self_uri } = await ask(`${objects}/${fileId}`);
    expect([access_methods[0].type, self_uri]).toEqual(['https', `drs://127.0.0.1/${fileId}`]);
    const { url, headers } = await ask(`${objects}/${fileId}/access/${access_methods[0].access_id}`);
    const sent = headers.map((line: string) => line.split(/: (.*)/s, 2));
    const bytes = Buffer.from(await (await fetch(url, { headers: sent })).arrayBuffer());
    expect(bytes).toHaveLength(size);
    const { checksum } = checksums.find(({ type }: { type: string }) => type === 'sha-256') ?? {};
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(checksum);
  },
);

describe('the function that strangers reach', () => {
  test('has no key of the archive and sees no bucket', async () => {
    const secrets = new Set<unknown>();
    const end = service.engine.traffic.observe(({ caller, service: of, input }) => {
      if (caller === 'drs' && of === 'secretsmanager') secrets.add(input?.SecretId);
    });
    const reply = await posted([visa]);
    end();
    expect([reply.status, JSON.parse(reply.text).size]).toEqual([200, 1000]);
    expect(calls().filter((call) => !call.endsWith('GetSecretValue'))).toEqual(['drs rds-data ExecuteStatement']);
    secrets.delete(service.connection.outputs.VisaDenyListSecretArn);
    expect([...secrets]).toEqual([]);
    const { environment } = service.engine.functions.definition('drs');
    expect(Object.keys(environment).filter((name) => /^ARCHIVE_/.test(name))).toEqual([]);
  });

  test('asks the database twice, for access and for the name, however many passports there are', async () => {
    const datasets = ['EGAD1', ...Array.from({ length: 11 }, (_, at) => `EGAD2${at}`)];
    const visas = await Promise.all(datasets.map((datasetId) => service.visa({ datasetId })));
    const passports = await Promise.all(
      Array.from({ length: 10 }, (_, at) => service.passport(`researcher-${at}`, visas)),
    );
    expect((await posted(passports, `${objects}/${fileId}/access/plaintext`)).status).toBe(200);
    expect(service.calls('drs rds-data ExecuteStatement')).toBe(2);
    expect(calls()).toEqual(['drs rds-data ExecuteStatement']);
  });

  test('asks the catalogue nothing about a file without access to it', async () => {
    const other = await service.visa({ datasetId: 'EGAD2' });
    expect((await posted([other])).status).toBe(403);
    expect(service.calls('drs rds-data ExecuteStatement')).toBe(1);
    expect((await posted(['a.b.c'])).status).toBe(401);
    expect(service.calls('drs rds-data ExecuteStatement')).toBe(1);
    expect((await posted([visa], `${objects}/${fileId}/access/s3`)).status).toBe(404);
    expect(service.calls('drs rds-data ExecuteStatement')).toBe(2);
  });

  test('describes what is served: its size, its digest and, where none is recorded, its entity tag', async () => {
    const served = await service.direct(`files/${fileId}`, visa);
    const described = async () => JSON.parse((await posted([visa])).text);
    const checksum = createHash('sha256').update(served.bytes).digest('hex');
    const size = served.bytes.length;
    expect(await described()).toMatchObject({ size, checksums: [{ type: 'sha-256', checksum }] });
    const recorded = await service.sql(`delete from sda.checksums c using sda.files f
      where c.file_id = f.id and f.stable_id = '${fileId}' and c.source = 'UNENCRYPTED' returning c.checksum`);
    expect(recorded).toEqual([[checksum]]);
    expect((await described()).checksums).toEqual([
      { type: 'etag', checksum: String(served.headers.etag).replaceAll('"', '') },
    ]);
  });

  test('says that the catalogue contradicts itself; the reason is in its log, and the metric counts once', async () => {
    const before = service.logs.length;
    const change = (to: string) =>
      service.sql(`update sda.files set archive_file_size = ${to} where stable_id = '${fileId}'`);
    await change('archive_file_size - 1025');
    const reply = await posted([visa]);
    await change('archive_file_size + 1025');
    expect([reply.status, JSON.parse(reply.text).code]).toEqual([500, 'archive_damaged']);
    const lines = service.logs.slice(before).filter(({ functionName }) => functionName === 'drs');
    expect(lines.some(({ line }) => line.includes(`file ${fileId}: no Crypt4GH body has 3 bytes`))).toBe(true);
    expect(lines.filter(({ line }) => line.includes('"ArchiveDamaged"') && line.includes('_aws'))).toHaveLength(1);
  });
});
