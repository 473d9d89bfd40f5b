import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AwsCall, Fault } from '../../lib/local/endpoint/traffic.ts';
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
/** AWS calls of the two functions since the test began. */
const calls = () =>
  Object.keys(service.engine.traffic.counters())
    .filter((name) => /^(drs|describe-file) /.test(name))
    .sort();

describe('the function that strangers reach', () => {
  test('has no key of the archive and sees no bucket: another one opens the header', async () => {
    const secrets = new Set<unknown>();
    const end = service.engine.traffic.observe(({ caller, service: of, input }) => {
      if (caller === 'drs' && of === 'secretsmanager') secrets.add(input?.SecretId);
    });
    const reply = await posted([visa]);
    end();
    expect([reply.status, JSON.parse(reply.text).size]).toEqual([200, 1000]);
    // A function that runs for the first time reads the archive's keys as well.
    expect(calls().filter((call) => !call.endsWith('GetSecretValue'))).toEqual([
      'describe-file rds-data ExecuteStatement',
      'describe-file s3 HeadObject',
      'drs lambda Invoke',
      'drs rds-data ExecuteStatement',
    ]);
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

  test('answers no bulk request, by the function and by API Gateway', async () => {
    const known = await posted([visa], `${objects}/access`);
    expect([known.status, known.headers['content-type']]).toEqual([404, 'application/json']);
    expect(JSON.parse(known.text)).toMatchObject({
      status_code: 404,
      code: 'not_found',
      requestId: expect.any(String),
    });
    const unknown = await posted([visa], objects);
    expect([unknown.status, unknown.headers['content-type']]).toEqual([404, 'application/problem+json']);
    expect(JSON.parse(unknown.text)).toMatchObject({ status: 404, code: 'not_found', requestId: expect.any(String) });
  });

  test('calls no other function for a caller without access to the object, nor for a URL', async () => {
    const other = await service.visa({ datasetId: 'EGAD2' });
    expect((await posted([other])).status).toBe(403);
    expect((await posted(['a.b.c'])).status).toBe(401);
    expect((await posted([visa], `${objects}/${fileId}/access/s3`)).status).toBe(404);
    expect((await posted([visa], `${objects}/${fileId}/access/plaintext`)).status).toBe(200);
    expect(calls()).toEqual(['drs rds-data ExecuteStatement']);
  });
});

describe('the function that describes files', () => {
  test('takes two ids and nothing else, and looks at the release itself', async () => {
    const invoke = (event: unknown) => service.engine.functions.invoke('describe-file', event);
    expect(await invoke({ fileId, datasetId: 'EGAD1' })).toMatchObject({ payload: { description: { size: 1000 } } });
    expect(await invoke({ fileId, datasetId: 'EGAD2' })).toMatchObject({ payload: { error: { code: 'forbidden' } } });
    for (const event of [{ fileId }, { fileId, datasetId: 'EGAD1', key: 'x' }, { fileId: '\0', datasetId: 'x' }, []]) {
      expect(await invoke(event)).toMatchObject({ ok: false, error: { errorType: 'Error' } });
    }
  });

  /** Its error as a caller of DRS sees it, while a call of it fails. */
  async function whileFailing(matches: (call: AwsCall) => boolean, fault: Fault) {
    const heal = service.engine.traffic.addFault((call) => (matches(call) ? fault : undefined));
    const reply = await posted([visa]).finally(heal);
    return { status: reply.status, code: JSON.parse(reply.text).code, headers: reply.headers };
  }
  const inIt = (name: string) => (call: AwsCall) => call.caller === 'describe-file' && call.service === name;

  test('is reported as a fault when it fails in an unforeseen way', async () => {
    const denied = { error: { status: 403, code: 'AccessDenied' } };
    expect(await whileFailing(inIt('s3'), denied)).toMatchObject({ status: 500, code: 'internal_error' });
  });

  test('says that the archive contradicts itself; the reason is in its log, and the metric counts once', async () => {
    const before = service.logs.length;
    await service.sql(`update sda.files set archive_file_size = archive_file_size + 1 where stable_id = '${fileId}'`);
    const reply = await posted([visa]);
    await service.sql(`update sda.files set archive_file_size = archive_file_size - 1 where stable_id = '${fileId}'`);
    expect([reply.status, JSON.parse(reply.text).code]).toEqual([500, 'archive_damaged']);
    const lines = service.logs.slice(before);
    const why = lines.filter(({ line }) => line.includes('the archive has'));
    expect(why.map(({ functionName }) => functionName)).toEqual(['describe-file']);
    const counted = lines.filter(({ line }) => line.includes('"ArchiveDamaged"') && line.includes('_aws'));
    expect(counted.map(({ functionName }) => functionName)).toEqual(['drs']);
  });
});
