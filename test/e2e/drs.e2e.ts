import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
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

test('the function that strangers reach has no key of the archive and sees no bucket', async () => {
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
