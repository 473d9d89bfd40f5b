import { compactVerify } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import type { DeliveryReceipt } from '../../../../lib/contract/delivery.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { settleRequest } from '../../../../lib/service/export/settle/settle.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';

const own = '11111111-1111-4111-8111-111111111111';
/** At the same time, the id decides. */
const older = '00000000-0000-4000-8000-000000000000';
/** Later than the other ones, whatever its id. */
const later = '01111111-1111-4111-8111-111111111111';
const sameKey = '22222222-2222-4222-8222-222222222222';
const otherKey = '33333333-3333-4333-8333-333333333333';
const erased = '44444444-4444-4444-8444-444444444444';
const recipient = 'ab'.repeat(32);
const name = `EGAD1-${own}.delivery.jws`;
const receiptKey = `${recipient}/${name}`;

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
  world.now = new Date('2026-11-21T10:00:30.250Z');
});

/** A request with a key, at a minute after ten. */
async function request(requestId: string, fingerprint = 'aa', minute = 0, files = 1): Promise<void> {
  await world.database.sql(`insert into data_out.requests (request_id, requested_at, archive_kind, kind, dataset_id, recipient,
      key_fingerprint, state, files)
    values ('${requestId}', '2026-11-21 10:0${minute}:00Z', 'fega', 'dataset', 'EGAD1', '${recipient}', '${fingerprint}', 'accepted',
      ${files})`);
}

/** A file of a request, with a container if it has `bytes`. */
async function file(
  requestId: string,
  id: string,
  state: string,
  more: { by?: string; bytes?: number; reason?: string } = {},
) {
  const { by, bytes, reason } = more;
  const text = (value: string | undefined) => (value === undefined ? 'null' : `'${value}'`);
  const container = bytes !== undefined || state === 'superseded' ? `${recipient}/${id}-x.c4gh` : undefined;
  await world.database.sql(`insert into data_out.request_files (request_id, file_id, state, reason, superseded_by, outbox_key, bytes,
      crc64nvme, header_sha256)
    values ('${requestId}', '${id}', '${state}', ${text(reason)}, ${text(by)}, ${text(container)}, ${bytes ?? 'null'},
      ${bytes === 11 ? "'AAAAAAAAAAA='" : 'null'}, 'cd')`);
}

const settle = (requestId = own) => settleRequest(requestId, world.settling, () => 900_000);
const requestRow = () => world.requestRow(own);

/** The payload of a receipt whose signature holds. */
async function receipt(key = receiptKey): Promise<DeliveryReceipt> {
  const jws = Buffer.from(world.outbox.objects.get(key)?.bytes ?? []).toString('latin1');
  const { payload, protectedHeader } = await compactVerify(jws, world.signer.publicKey);
  expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'data-out-delivery+jwt', kid: 'key-1' });
  return JSON.parse(Buffer.from(payload).toString());
}

test('the receipt says of each file what the outbox has under its name, or why it is missing', async () => {
  await request(own, 'aa', 0, 10);
  await request(older);
  await request(later, 'aa', 1);
  await request(sameKey, 'aa', 1);
  await request(otherKey, 'bb', 2);
  await world.database.sql(`insert into sda.files (stable_id, submission_file_path, decrypted_file_size)
    values ('F1', 'dir/ä.bam', 7), ('F2', 'dir/2.bam', null)`);
  await world.database.sql(`insert into sda.checksums (file_id, checksum, type, source)
    select id, case stable_id when 'F1' then repeat('AB', 32) else 'none' end, 'SHA256', 'UNENCRYPTED' from sda.files`);
  await file(own, 'F1', 'staged', { bytes: 11 });
  await file(own, 'F2', 'staged', { bytes: 12 });
  await file(later, 'F2', 'staged', { bytes: 22 });
  await file(own, 'F3', 'superseded', { by: sameKey });
  await file(sameKey, 'F3', 'staged', { bytes: 23 });
  await file(own, 'F4', 'superseded', { by: otherKey });
  await file(otherKey, 'F4', 'staged', { bytes: 24 });
  await file(own, 'F5', 'staged', { bytes: 15 });
  await file(otherKey, 'F5', 'staged', { bytes: 25 });
  await file(own, 'F6', 'superseded', { by: sameKey });
  await file(sameKey, 'F6', 'withdrawn');
  await file(own, 'F7', 'superseded', { by: erased });
  await file(older, 'F7', 'staged', { bytes: 17 });
  await file(own, 'F8', 'rejected', { reason: 'visa_denied' });
  await file(own, 'F9', 'given_up', { reason: 'archive_damaged' });
  await file(own, 'G1', 'withdrawn');
  expect(await settle()).toEqual({ outcome: 'settled', state: 'incomplete', staged: 3, missing: 7, seconds: 30.25 });
  const common = { path: '', header_sha256: 'cd' };
  const sha256 = 'ab'.repeat(32);
  expect(await receipt()).toEqual({
    iss: 'org.example.data-out',
    iat: 1_795_255_230,
    jti: own,
    requested_at: '2026-11-21T10:00:00.000Z',
    generation: 1,
    dataset: 'EGAD1',
    kind: 'dataset',
    key_fingerprint: 'aa',
    complete: false,
    files: [
      {
        ...{ ...common, name: 'F1-x.c4gh', file_id: 'F1', path: 'dir/ä.bam', size: 11 },
        ...{ plaintext_size: 7, plaintext_sha256: sha256, crc64nvme: 'AAAAAAAAAAA=' },
      },
      { ...common, name: 'F2-x.c4gh', file_id: 'F2', path: 'dir/2.bam', size: 22 },
      { ...common, name: 'F3-x.c4gh', file_id: 'F3', size: 23 },
    ],
    missing: [
      { file_id: 'F4', path: '', reason: 'superseded', by: otherKey },
      { file_id: 'F5', path: '', reason: 'superseded', by: otherKey },
      { file_id: 'F6', path: '', reason: 'superseded', by: sameKey },
      { file_id: 'F7', path: '', reason: 'superseded', by: erased },
      { file_id: 'F8', path: '', reason: 'visa_denied' },
      { file_id: 'F9', path: '', reason: 'given_up' },
      { file_id: 'G1', path: '', reason: 'withdrawn' },
    ],
  });
  expect(await requestRow()).toMatchObject({
    ...{ state: 'incomplete', staged: 3, staged_bytes: 56, settled_revision: 1, receipt: name },
  });
  expect(world.outbox.objects.get(receiptKey)?.metadata).toEqual({
    ...{
      'request-id': own,
      'requested-at': '2026-11-21T10:00:00.000Z',
      tally: '{"staged":3,"stagedBytes":56,"missing":7,"withdrawn":1}',
      'dataset-id': 'EGAD1',
      generation: '1',
    },
  });
  expect(await world.audit()).toEqual(['settled incomplete']);
});

test.each([
  ['complete', ['staged', 'staged']],
  ['withdrawn', ['staged', 'withdrawn']],
  ['incomplete', ['withdrawn', 'given_up']],
  ['withdrawn', ['withdrawn', 'withdrawn']],
])('%s: %o', async (state, states) => {
  await request(own);
  for (const [n, each] of states.entries()) await file(own, `F${n}`, each, each === 'staged' ? { bytes: 10 } : {});
  expect(await settle()).toMatchObject({ outcome: 'settled', state });
  expect(await requestRow()).toMatchObject({ state });
  expect(await receipt()).toMatchObject({ complete: state === 'complete' });
});

test('a request of one file has a receipt of the name of the file', async () => {
  await request(own);
  await world.database.sql("update data_out.requests set kind = 'file', file_id = 'F_1'");
  await file(own, 'F_1', 'staged', { bytes: 10 });
  await settle();
  expect(await receipt(`${recipient}/F_5f1-${own}.delivery.jws`)).toMatchObject({ kind: 'file', dataset: 'EGAD1' });
  expect(await requestRow()).toMatchObject({ receipt: `F_5f1-${own}.delivery.jws` });
});

test.each(['waiting', 'sent'])(
  'a request that a newer one has overtaken waits until that is recorded: its row is %s',
  async (state) => {
    await request(own);
    await request(sameKey, 'aa', 1);
    await file(own, 'F1', 'superseded', { by: sameKey });
    await file(sameKey, 'F1', state);
    await expect(settle()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect([await requestRow(), world.outbox.writes]).toMatchObject([{ state: 'accepted', settled_revision: 0 }, 0]);
  },
);

describe('not settled: nothing is written', () => {
  test.each([
    ['a request that is gone', 'delete from data_out.requests'],
    ['one that was rejected', "update data_out.requests set state = 'rejected'"],
    ['one whose recipient was erased', 'update data_out.requests set recipient = null'],
    ['one with an open file', "update data_out.request_files set state = 'sent'"],
    ['one with a waiting file', "update data_out.request_files set state = 'waiting'"],
  ])('%s', async (_, sql) => {
    await request(own);
    await file(own, 'F1', 'given_up');
    await world.database.sql(sql);
    expect(await settle()).toEqual({ outcome: 'not_settled' });
    expect([world.outbox.writes, await world.audit()]).toEqual([0, []]);
  });

  test.each([
    ['a file changed after its end', 'update data_out.requests set revision = 2'],
    ['a file was opened again', "update data_out.request_files set state = 'waiting'"],
    ['the recipient was erased', 'update data_out.requests set recipient = null'],
  ])('%s while it was settled', async (_, sql) => {
    await request(own);
    await file(own, 'F1', 'given_up');
    world.calls.after('db.query', () => world.database.sql(sql));
    expect(await settle()).toEqual({ outcome: 'not_settled' });
    expect([world.outbox.writes, await requestRow()]).toMatchObject([0, { state: 'accepted' }]);
  });
});

describe('again and at once', () => {
  beforeEach(async () => {
    await request(own);
    await file(own, 'F1', 'staged', { bytes: 10 });
  });

  test('a request is settled once for each revision, and says once how long it took', async () => {
    await settle();
    world.calls.names.length = 0;
    expect(await settle()).toEqual({ outcome: 'already_settled' });
    expect(world.calls.names).toEqual(['db.query']);
    await world.database.sql('update data_out.requests set revision = 4');
    expect(await settle()).toEqual({ outcome: 'settled', state: 'complete', staged: 1, missing: 0 });
    expect(await receipt()).toMatchObject({ generation: 4 });
    expect(await world.audit()).toEqual(['settled complete']);
  });

  test('two deliveries at once leave one receipt', async () => {
    const ends = await Promise.all([settle(), settle()]);
    expect(ends).toMatchObject([{ outcome: 'settled' }, { outcome: 'settled' }]);
    expect(world.outbox.writes).toBe(1);
  });

  const found = (metadata: Record<string, string>) =>
    world.outbox.objects.set(receiptKey, {
      ...{ bytes: Buffer.alloc(1), etag: `"${metadata.generation}"`, lastModified: new Date(0), metadata },
    });

  test.each<[string, Record<string, string>, boolean]>([
    ['of an older revision is replaced', { generation: '1' }, true],
    ['that says no revision is replaced', {}, true],
    ['of this revision stays', { generation: '2' }, false],
  ])('a receipt %s', async (_, metadata, isReplaced) => {
    await world.database.sql('update data_out.requests set revision = 2');
    found(metadata);
    expect(await settle()).toMatchObject({ outcome: 'settled' });
    expect(world.outbox.writes).toBe(isReplaced ? 1 : 0);
    expect(await requestRow()).toMatchObject({ settled_revision: 2 });
  });

  test('a late delivery writes no receipt of a person who was erased meanwhile', async () => {
    world.calls.after('outbox.head', async () => {
      await settle();
      await world.database.sql('update data_out.requests set recipient = null');
      world.outbox.objects.clear();
    });
    expect(await settle()).toEqual({ outcome: 'not_settled' });
    expect(world.outbox.objects.size).toBe(0);
  });

  test('a receipt of a newer revision stays, and whoever wrote it settles the request', async () => {
    found({ generation: '3' });
    expect(await settle()).toEqual({ outcome: 'not_settled' });
    expect([world.outbox.writes, (await requestRow())?.settled_revision]).toEqual([0, 0]);
  });

  test('a receipt that others write meanwhile: of an older revision twice, it comes back; of a newer one, it stays', async () => {
    const meanwhile = (generation: string, next?: () => void) =>
      world.calls.after('signer.sign', () => {
        found({ generation });
        next?.();
      });
    meanwhile('7');
    await settle();
    expect(world.outbox.writes).toBe(0);
    await world.database.sql('update data_out.requests set revision = 9');
    meanwhile('8', () => world.calls.after('outbox.head', () => world.outbox.objects.delete(receiptKey)));
    await expect(settle()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(await requestRow()).toMatchObject({ state: 'complete', settled_revision: 1 });
  });

  test('a signature that fails: the state is recorded, and the next delivery writes the receipt', async () => {
    world.calls.after('signer.identity', () => Promise.reject(unavailable('KMS')));
    await expect(settle()).rejects.toThrow('KMS');
    expect(await requestRow()).toMatchObject({ state: 'complete', settled_revision: 0, receipt: null });
    expect(await settle()).toMatchObject({ outcome: 'settled' });
    expect(await receipt()).toMatchObject({ complete: true });
  });

  test('without receipts, it is settled all the same', async () => {
    world.receipts = false;
    expect(await settle()).toMatchObject({ outcome: 'settled', state: 'complete' });
    expect(await requestRow()).toMatchObject({ state: 'complete', settled_revision: 1, receipt: null });
    expect(world.calls.names.filter((called) => !called.startsWith('db.'))).toEqual([]);
  });
});

test('a receipt has files of all pages of the database', async () => {
  await request(own, 'aa', 0, 1001);
  await world.database.sql(`insert into data_out.request_files (request_id, file_id, state)
    select '${own}', 'F' || n, 'given_up' from generate_series(1, 1001) n`);
  await settle();
  expect(new Set((await receipt()).missing.map(({ file_id }) => file_id)).size).toBe(1001);
});

describe('more files than one receipt lists', () => {
  const settleInParts = () => settleRequest(own, { ...world.settling, filesPerPart: 2 }, () => 900_000);
  beforeEach(async () => {
    await request(own, 'aa', 0, 5);
    for (const id of ['F1', 'F2', 'F3', 'F4']) await file(own, id, 'given_up');
    await file(own, 'F5', 'staged', { bytes: 10 });
  });

  test('have several, of which the last one has the plain name and is written last', async () => {
    expect(await settleInParts()).toMatchObject({ outcome: 'settled', staged: 1, missing: 4 });
    const keys = [1, 2].map((part) => `${recipient}/EGAD1-${own}.part-${part}.delivery.jws`);
    expect([...world.outbox.objects.keys()]).toEqual([...keys, receiptKey]);
    for (const [index, key] of [...keys, receiptKey].entries()) {
      const ids = [['F1', 'F2'], ['F3', 'F4'], []][index] ?? [];
      expect(await receipt(key)).toMatchObject({
        ...{ part: index + 1, parts: 3, generation: 1, complete: false },
        ...{ files: ids.length > 0 ? [] : [{ file_id: 'F5' }], missing: ids.map((file_id) => ({ file_id })) },
      });
    }
    expect(await requestRow()).toMatchObject({ staged: 1, settled_revision: 1, receipt: name });
  });

  test('are read again only after the last part that an invocation has written before it died', async () => {
    world.calls.after('outbox.put', () => world.calls.after('outbox.put', () => Promise.reject(new Error('died'))));
    await expect(settleInParts()).rejects.toThrow('died');
    expect(await requestRow()).toMatchObject({ state: 'accepted', settled_revision: 0, receipt: null });
    world.calls.names.length = 0;
    expect(await settleInParts()).toMatchObject({ outcome: 'settled', staged: 1, missing: 4 });
    expect(world.calls.names.filter((called) => called === 'outbox.put')).toHaveLength(1);
    expect(await receipt()).toMatchObject({ part: 3, parts: 3, complete: false, files: [{ file_id: 'F5' }] });
  });

  test('say only in the last part that all of them are complete', async () => {
    await world.database.sql("delete from data_out.request_files where file_id <> 'F5'");
    for (const id of ['F1', 'F2', 'F3', 'F4']) await file(own, id, 'staged', { bytes: 10 });
    expect(await settleInParts()).toMatchObject({ state: 'complete', staged: 5 });
    const keys = [1, 2].map((part) => `${recipient}/EGAD1-${own}.part-${part}.delivery.jws`);
    expect(await Promise.all(keys.map(async (key) => (await receipt(key)).complete))).toEqual([false, false]);
    expect(await receipt()).toMatchObject({ part: 3, complete: true });
  });
});
