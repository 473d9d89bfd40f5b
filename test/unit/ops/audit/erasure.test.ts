import { beforeEach, expect, test } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { RdsErasure } from '../../../../lib/ops/audit/erasure.ts';
import { recordedContainers } from '../../../../lib/service/export/withdraw/containers.ts';
import { ExportPipeline, subject } from '../../../helpers/export-pipeline.ts';

const jane = outboxPrefix(subject);
const joe = outboxPrefix({ ...subject, sub: 'joe' });
const erasureId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';

let world: ExportPipeline;
let erasure: RdsErasure;
let [janes, joes]: string[] = [];
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2']);
  world.grant('EGAD1', 'joe', { subject: { ...subject, sub: 'joe' } });
  janes = world.request();
  joes = world.request({ datasetId: 'EGAD1' }, { token: 'joe' });
  await world.deliverAll();
  // All requests have the same key, as long as nobody changes that of Joe.
  for (const table of ['requests', 'export_log'])
    await world.database.sql(`update data_out.${table} set key_fingerprint = 'beef' where recipient = '${joe}'`);
  erasure = new RdsErasure(world.database.dataApi());
});
/** All that the tables have of a request. */
const textsOf = async (requestId: string | undefined) =>
  (
    await Promise.all(
      ['requests', 'request_files', 'export_log'].map((table) =>
        world.database.sql(
          `select cast(t as text) from data_out.${table} t where request_id = '${requestId}' order by 1`,
        ),
      ),
    )
  ).flat(2);

test("takes a person, the key and the hashes out of the rows, and leaves others' rows alone", async () => {
  const [before, others] = [(await textsOf(janes)).join(), await textsOf(joes)];
  const known = await world.fileRow(janes ?? '', 'F1');
  const { key_fingerprint: fingerprint, public_key: key } = (await world.requestRow(janes ?? '')) ?? {};
  const secrets = [jane, fingerprint, key, known.header_sha256].map(String);
  for (const secret of secrets) expect(before).toContain(secret);
  // One request, two files, and four rows of the audit trail.
  expect(await erasure.erase(jane, erasureId)).toBe(1 + 2 + 4);
  const after = await textsOf(janes);
  expect(after).toHaveLength(1 + 2 + 4);
  for (const secret of secrets) expect(after.join()).not.toContain(secret);
  expect(await textsOf(joes)).toEqual(others);
  expect((await world.audit()).filter((row) => row === 'erased')).toHaveLength(1);
  expect(await erasure.erase(jane, erasureId)).toBe(0);
  expect((await world.audit()).filter((row) => row === 'erased')).toHaveLength(1);
});

test("takes the person's keys out of rows that name nobody, as those of rejected requests", async () => {
  world.visas.set('old', 'expired');
  const rejected = world.request({ datasetId: 'EGAD1' }, { token: 'old' });
  await world.deliverAll();
  expect(await world.requestRow(rejected)).toMatchObject({
    recipient: null,
    key_fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(await erasure.erase(jane, erasureId)).toBe(7 + 2);
  expect(await world.requestRow(rejected)).toMatchObject({ key_fingerprint: null, reason: 'visa_expired' });
});

test('leaves rows of which nothing is sent, settled or withdrawn any more', async () => {
  await world.database.sql(`update data_out.requests set revision = 2 where request_id = '${janes}'`);
  expect(await erasure.unsettled(jane)).toEqual({ staging: 0, settling: 1 });
  expect(await erasure.unsettled(joe)).toEqual({ staging: 0, settling: 0 });
  world.put('smallFileExports', { requestId: janes, fileId: 'F1' });
  await erasure.erase(jane, erasureId);
  expect(await world.stage()).toMatchObject([{ end: { outcome: 'ended' } }]);
  expect(await world.sweep()).toMatchObject({ settling: 0 });
  world.put('deliveries', { requestId: janes });
  expect(await world.settle()).toEqual({ outcome: 'not_settled' });
  const pages = await Array.fromAsync(recordedContainers(world.db, 30, { datasetId: 'EGAD1' }));
  expect(pages.flat().map(({ requestId }) => requestId)).toEqual([joes, joes]);
});
