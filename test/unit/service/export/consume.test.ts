import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../../lib/contract/limits.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { consumeExportRequest } from '../../../../lib/service/export/consume.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { vector, vectorKey } from '../../../helpers/export-world.ts';
import { rowIdOf } from '../../../helpers/fake-catalogue.ts';
import { LedgerWorld } from '../../../helpers/ledger-world.ts';
import { CrashError } from '../../../helpers/port-calls.ts';
import { stageFile } from '../../../helpers/stage-one.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const messageId = 'b2c1f0de-7777-4aaa-8bbb-1234567890ab';
const researcher = { iss: 'https://issuer.example', sub: 'r1' };
/** SHA-256 of `22:https://issuer.exampler1`, the byte length of `iss` first. */
const prefix = createHash('sha256').update('22:https://issuer.exampler1').digest('hex');
const expiresAt = new Date('2026-11-21T11:00:00Z');
/** The recipient's, and that of a visa. */
const dependsOn = [prefix, 'b'.repeat(64)];
const key = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const fingerprint = createHash('sha256').update(vectorKey('bob').publicKey).digest('hex');

const request = { jwtToken: 'good-visa', publicKey: key, datasetId: 'EGAD1' };
const receive = { count: 1, isLast: false };
const ample = () => 900_000;
const received = (
  body: unknown,
  attributes: Record<string, string> = { requestId, archiveKind: 'fega' },
  sentAt = new Date('2026-11-21T09:59:00.123Z'),
) => ({ messageId, body: typeof body === 'string' ? body : JSON.stringify(body), attributes, sentAt, receive });

let database: TestDatabase;
let world: LedgerWorld;
beforeAll(async () => {
  database = await TestDatabase.shared();
});
afterAll(() => database[Symbol.asyncDispose]());
const consume = (...message: Parameters<typeof received>) =>
  consumeExportRequest(received(...message), world.consuming, ample);
const grant = (datasetId: string, subject = researcher) => ({ subject, datasetId, expiresAt, dependsOn });

beforeEach(async () => {
  world = await LedgerWorld.on(database);
  world.catalogue.addDataset('EGAD1', { released: true, aliases: ['doi:1'], fileIds: ['F4', 'F2', 'F1', 'F3'] });
  world.catalogue.addDataset('EGAD2', { released: false, fileIds: ['F9'] });
  world.catalogue.addDataset('EGAD3', { released: true, fileIds: ['F9'] });
  world.catalogue.addDataset('EGAD4', { released: true });
  world.visas.set('good-visa', [grant('EGAD1')]);
});

test('the visa is verified first, then the release; one message a file goes out, in the order of the design', async () => {
  expect(await consume(request)).toEqual({ outcome: 'accepted', requestId, datasetId: 'EGAD1', files: 4 });
  expect(world.calls.names).toEqual([
    'ledger.begin',
    'verify',
    'catalogue.evaluateAccess',
    'catalogue.exportableFiles',
    'outbox.markOpen',
    'ledger.accept',
    'fileExports.send',
    'catalogue.exportableFiles',
    'ledger.addFiles',
    'fileExports.send',
    'ledger.completeFanOut',
  ]);
  const common = {
    requestId,
    requestedAt: '2026-11-21T09:59:00.123Z',
    datasetId: 'EGAD1',
    recipient: prefix,
    dependsOn: [dependsOn[1]],
  };
  expect(world.fileExports.sent).toEqual(
    ['F1', 'F2', 'F3', 'F4'].map((fileId) => ({ ...common, fileId, publicKey: key })),
  );
  expect(await world.audit()).toEqual([
    {
      requestId,
      event: 'accepted',
      archiveKind: 'fega',
      datasetId: 'EGAD1',
      recipient: prefix,
      keyFingerprint: fingerprint,
    },
  ]);
});

test('no message to a file carries the visa', async () => {
  await consume(request);
  expect(JSON.stringify(world.fileExports.sent)).not.toContain('good-visa');
});

describe('a request is rejected, nothing is staged, the reason is on record', () => {
  const cases: [string, unknown, Record<string, string> | undefined][] = [
    ['malformed_message', '{"jwtToken":"secret-visa', undefined],
    ['malformed_message', 'null', undefined],
    ['malformed_message', [], undefined],
    ['malformed_message', { ...request, fileId: 'F1' }, undefined],
    ['malformed_message', { ...request, datasetId: undefined }, undefined],
    ['malformed_message', { ...request, jwtToken: 7 }, undefined],
    ['malformed_message', { ...request, jwtToken: 'v'.repeat(limits.visaBytes + 1) }, undefined],
    ['malformed_message', { ...request, surprise: true }, undefined],
    ['malformed_message', { ...request, datasetId: 'EGAD1\u0000' }, undefined],
    ['malformed_message', { ...request, datasetId: 'EGAD\ud800' }, undefined],
    ['malformed_message', request, { requestId: 'not-a-uuid' }],
    ['malformed_message', request, { requestId, archiveKind: 'a\nb' }],
    ['unusable_public_key', { ...request, publicKey: 'AAAA' }, undefined],
    ['unusable_public_key', { ...request, publicKey: Buffer.alloc(32).toString('base64') }, undefined],
    ['visa_malformed_token', { ...request, jwtToken: 'unknown' }, undefined],
    ['visa_expired', { ...request, jwtToken: 'old' }, undefined],
    ['visa_bad_signature', { ...request, jwtToken: 'forged' }, undefined],
    ['unknown_dataset', { ...request, datasetId: 'EGAD99' }, undefined],
    ['not_entitled', { ...request, datasetId: 'EGAD3' }, undefined],
    ['not_entitled', { ...request, jwtToken: 'other-type' }, undefined],
    ['not_entitled', { ...request, jwtToken: 'longer-id' }, undefined],
    ['not_released', { ...request, datasetId: 'EGAD2', jwtToken: 'all' }, undefined],
    ['nothing_to_export', { ...request, datasetId: 'EGAD4', jwtToken: 'all' }, undefined],
    ['unknown_file', { ...request, datasetId: undefined, fileId: 'F0' }, undefined],
    ['not_entitled', { ...request, datasetId: undefined, fileId: 'F9' }, undefined],
    ['not_released', { ...request, datasetId: undefined, fileId: 'F9', jwtToken: 'unreleased' }, undefined],
  ];

  test.each(cases)('%s: %j', async (reason, body, attributes) => {
    world.visas.set('old', 'expired').set('forged', 'bad_signature').set('other-type', []);
    world.visas.set('longer-id', [grant('EGAD10'), grant('EGAD'), grant('egad1'), grant('EGAD1 ')]);
    world.visas.set(
      'all',
      ['EGAD1', 'EGAD2', 'EGAD3', 'EGAD4'].map((id) => grant(id)),
    );
    world.visas.set('unreleased', [grant('EGAD2')]);

    expect(await consume(body, attributes)).toMatchObject({ outcome: 'rejected', reason });

    expect(world.fileExports.sent).toEqual([]);
    expect(await world.audit()).toEqual([expect.objectContaining({ event: 'rejected', reason })]);
    expect(JSON.stringify(await world.audit())).not.toMatch(/secret-visa|\\u0000/);
  });

  test('the row of a rejected request says all that is known so far', async () => {
    await consume({ ...request, datasetId: 'EGAD3' });
    expect(await world.audit()).toEqual([
      {
        requestId,
        event: 'rejected',
        reason: 'not_entitled',
        archiveKind: 'fega',
        datasetId: 'EGAD3',
        keyFingerprint: fingerprint,
      },
    ]);
  });
});

describe('a quota of the outbox', () => {
  const another = 'a2c1f0de-7777-4aaa-8bbb-1234567890ab';
  /** The ledger measures it: see its own tests. */
  const reached = () => {
    world.ledger.accept = () => Promise.resolve(false);
  };
  beforeEach(() => {
    world.visas.set('good-visa', [grant('EGAD1'), grant('EGAD3')]);
  });
  const ask = (datasetId: string, id = requestId) =>
    consume({ ...request, datasetId }, { requestId: id, archiveKind: 'fega' });

  test('that is reached rejects the next request: nothing is sent, and the audit row says why', async () => {
    expect(await ask('EGAD1')).toMatchObject({ outcome: 'accepted', files: 4 });
    world.fileExports.sent.length = 0;
    reached();
    expect(await ask('EGAD3', another)).toMatchObject({ outcome: 'rejected', reason: 'outbox_quota_exceeded' });
    expect(world.fileExports.sent).toEqual([]);
    expect(await world.statesOf(another)).toEqual([]);
    expect((await world.audit()).filter((row) => row.requestId === another)).toEqual([
      {
        requestId: another,
        event: 'rejected',
        reason: 'outbox_quota_exceeded',
        archiveKind: 'fega',
        datasetId: 'EGAD3',
        recipient: prefix,
        keyFingerprint: fingerprint,
      },
    ]);
  });

  test('is asked about after entitlement and release: a stranger does not learn how full an outbox is', async () => {
    reached();
    world.visas.set('good-visa', [grant('EGAD2')]);
    expect(await ask('EGAD2')).toMatchObject({ outcome: 'rejected', reason: 'not_released' });
    expect(await ask('EGAD1')).toMatchObject({ outcome: 'rejected', reason: 'not_entitled' });
    expect(world.calls.names).not.toContain('ledger.accept');
  });

  test('does not stop a fan-out that resumes after a crash: it was accepted', async () => {
    world.calls.failAt(6, 'before', unavailable('down'));
    await expect(ask('EGAD1')).rejects.toThrow('down');
    world.calls.revive();
    reached();
    expect(await ask('EGAD1')).toMatchObject({ outcome: 'accepted', files: 4 });
  });
});

test('a message without a request id is known by its message id', async () => {
  expect(await consume(request, {})).toMatchObject({ outcome: 'accepted', requestId: messageId });
  expect((await world.audit())[0]).not.toHaveProperty('archiveKind');
});

describe('when the request was made', () => {
  const sentAt = new Date('2026-11-21T09:59:00.123Z');
  test.each([
    ['the time that the proxy said', '2026-11-14T08:00:00.500Z', '2026-11-14T08:00:00.500Z'],
    ['the time that the proxy said, its clock ahead of the queue by a minute', '2026-11-21T10:00:00.123Z', undefined],
    ['when the queue took it, for a time in the future', '2026-11-21T10:00:00.124Z', sentAt.toISOString()],
    ['when the queue took it, for no time', 'yesterday', sentAt.toISOString()],
    ['when the queue took it, for a date', '2026-11-14', sentAt.toISOString()],
    ['when the queue took it, for a day that is none', '2026-02-30T08:00:00.000Z', sentAt.toISOString()],
  ])('%s', async (_, requestedAt, expected = requestedAt) => {
    await consume(request, { requestId, archiveKind: 'fega', requestedAt }, sentAt);
    expect(world.fileExports.sent.map((message) => message.requestedAt)).toEqual(Array(4).fill(expected));
  });

  test('an old request that is moved back from the dead-letter queue does not replace a newer one', async () => {
    const other = Buffer.from(vectorKey('dave').publicKey).toString('base64');
    const newer = 'a2c1f0de-7777-4aaa-8bbb-1234567890ab';
    world.addFile('F9', vector('split/body.bin'));
    world.visas.set('good-visa', [grant('EGAD3')]);
    const wanted = { jwtToken: 'good-visa', datasetId: 'EGAD3' };
    const made = (id: string, at: string) => ({ requestId: id, archiveKind: 'fega', requestedAt: at });
    const days = (day: number) => new Date(Date.UTC(2026, 10, day));
    await consume({ ...wanted, publicKey: other }, made(newer, '2026-11-15T00:00:00.000Z'), days(15));
    // A redrive gives the message a new id and a new time of sending.
    await consume({ ...wanted, publicKey: key }, made(requestId, '2026-11-14T00:00:00.000Z'), days(20));
    const delivery = { redelivered: false, remainingMs: () => 900_000 };
    const outcomes = [];
    for (const message of world.smallFileExports.sent) {
      outcomes.push(
        await stageFile({ messageId, body: JSON.stringify(message), sentAt: days(20) }, world.staging, delivery),
      );
    }
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['staged', 'superseded']);
    expect([...world.outbox.objects.values()].map(({ metadata }) => metadata['request-id'])).toEqual([newer]);
  });
});

test.each([
  ['the request by alias, the visa by id', 'doi:1', 'EGAD1'],
  ['the request by id, the visa by alias', 'EGAD1', 'doi:1'],
  ['both by alias', 'doi:1', 'doi:1'],
])('%s: the dataset is found', async (_, datasetId, granted) => {
  world.visas.set('good-visa', [grant('EGAD77'), grant(granted)]);
  expect(await consume({ ...request, datasetId })).toMatchObject({ outcome: 'accepted', datasetId: 'EGAD1', files: 4 });
});

test('an id in a visa that no database can hold is ignored', async () => {
  world.visas.set('good-visa', [grant('EGAD\u0000'), grant('doi:1')]);
  expect(await consume(request)).toMatchObject({ outcome: 'accepted' });
  expect(world.calls.names.join()).not.toContain('\u0000');
});

test('the recipient is the subject of the visa that grants the dataset, the first of several', async () => {
  const others = ['r2', 'r1', 'r3'].map((sub) => ({ iss: researcher.iss, sub }));
  world.visas.set('good-visa', [grant('EGAD3', others[0]), grant('EGAD1', others[1]), grant('EGAD1', others[2])]);
  await consume(request);
  expect(new Set(world.fileExports.sent.map((message) => message.recipient))).toEqual(new Set([prefix]));
});

test('a file in several datasets is exported through one that is granted and released', async () => {
  world.visas.set('good-visa', [grant('EGAD2'), grant('EGAD3')]);
  const outcome = await consume({ ...request, datasetId: undefined, fileId: 'F9' });
  expect(outcome).toEqual({ outcome: 'accepted', requestId, datasetId: 'EGAD3', files: 1 });
  expect(world.fileExports.sent).toEqual([expect.objectContaining({ fileId: 'F9', datasetId: 'EGAD3' })]);
  expect(await world.audit()).toEqual([
    expect.objectContaining({ event: 'accepted', fileId: 'F9', datasetId: 'EGAD3' }),
  ]);
});

test.each([
  'ledger.begin',
  'verify',
  'catalogue.evaluateAccess',
  'catalogue.exportableFiles',
  'ledger.accept',
  'fileExports.send',
])('a failure of %s is not a rejection: the message fails and is delivered again', async (name) => {
  const order = [
    'ledger.begin',
    'verify',
    'catalogue.evaluateAccess',
    'catalogue.exportableFiles',
    'outbox.markOpen',
    'ledger.accept',
    'fileExports.send',
  ];
  const failure = unavailable('down');
  world.calls.failAt(order.indexOf(name), 'before', failure);
  await expect(consume(request)).rejects.toBe(failure);
  expect((await world.audit()).filter((row) => row.event === 'rejected')).toEqual([]);
  world.calls.revive();
  expect(await consume(request)).toMatchObject({ outcome: 'accepted', files: 4 });
});

test('a dataset of more than two million files is rejected at once, and one of two million is not', async () => {
  world.catalogue.counts.set('EGAD1', 2_000_001);
  expect(await consume(request)).toMatchObject({
    outcome: 'rejected',
    reason: 'too_many_files',
    detail: expect.stringContaining('export it by parts'),
  });
  expect(world.fileExports.sent).toEqual([]);
  expect(await world.statesOf(requestId)).toEqual([]);
  // One of its files is another matter.
  const one = { ...request, datasetId: undefined, fileId: 'F1' };
  expect(await consume(one, { requestId: messageId })).toMatchObject({ outcome: 'accepted', files: 1 });
  world.catalogue.counts.set('EGAD1', 2_000_000);
  const another = '7f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e12';
  expect(await consume(request, { requestId: another })).toMatchObject({ outcome: 'accepted', files: 4 });
});

test('a rejection whose audit row cannot be written is tried again', async () => {
  const failure = unavailable('down');
  world.calls.failAt(2, 'before', failure);
  await expect(consume({ ...request, jwtToken: 'unknown' })).rejects.toBe(failure);
  expect(await world.audit()).toEqual([]);
  world.calls.revive();
  expect(await consume({ ...request, jwtToken: 'unknown' })).toMatchObject({ outcome: 'rejected' });
  expect(await world.audit()).toHaveLength(1);
});

test('a crash at any call, before or after its effect: the redelivery sends every file, the row is written once', async () => {
  for (const when of ['before', 'after'] as const) {
    for (let at = 0; ; at += 1) {
      const fresh = await LedgerWorld.on(database);
      fresh.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1', 'F2', 'F3', 'F4'] });
      fresh.visas.set('good-visa', [grant('EGAD1')]);
      fresh.calls.crashAt(at, when);
      const first = await consumeExportRequest(received(request), fresh.consuming, ample).catch(
        (error: unknown) => error,
      );
      // Nothing is sent before the row exists.
      if (fresh.fileExports.sent.length > 0) expect(await fresh.audit()).toHaveLength(1);
      if (!fresh.calls.revive()) {
        expect(at).toBe(11);
        break;
      }
      expect(first).toBeInstanceOf(CrashError);
      await consumeExportRequest(received(request), fresh.consuming, ample);
      expect(new Set(fresh.fileExports.sent.map((message) => message.fileId))).toEqual(
        new Set(['F1', 'F2', 'F3', 'F4']),
      );
      expect(await fresh.audit()).toEqual([expect.objectContaining({ event: 'accepted' })]);
    }
  }
});

describe('the queue of a file', () => {
  const MiB = 1024 * 1024;
  const sizes: [string, number][] = [
    ['F1', 0],
    ['F2', 8 * MiB],
    ['F3', 8 * MiB + 1],
  ];

  test('is that of small files up to 8 MiB; an unknown size counts as large', async () => {
    for (const [id, archiveFileSize] of sizes) {
      world.addFile(id, Buffer.alloc(0));
      world.catalogue.files.set(id, { ...world.catalogue.files.get(id)!, archiveFileSize });
    }
    await consume(request);
    expect(world.smallFileExports.sent.map(({ fileId }) => fileId)).toEqual(['F1', 'F2']);
    expect(world.fileExports.sent.map(({ fileId }) => fileId)).toEqual(['F3', 'F4']);
  });

  test('follows from the size of a single file, too', async () => {
    world.addFile('F1', vector('split/body.bin'));
    await consume({ ...request, datasetId: undefined, fileId: 'F1' });
    await consume({ ...request, datasetId: undefined, fileId: 'F2' }, { requestId: messageId });
    expect(world.smallFileExports.sent.map(({ fileId }) => fileId)).toEqual(['F1']);
    expect(world.fileExports.sent.map(({ fileId }) => fileId)).toEqual(['F2']);
  });
});

describe('a fan-out that is delivered again', () => {
  const fileIds = Array.from({ length: 34 }, (_, n) => `G${String(n).padStart(3, '0')}`);
  beforeEach(() => {
    world.catalogue.addDataset('EGAD1', { released: true, fileIds });
    for (const id of fileIds.slice(17)) world.addFile(id, Buffer.alloc(1));
  });
  const sent = () => [...world.fileExports.sent, ...world.smallFileExports.sent].map(({ fileId }) => fileId).sort();

  test('continues behind the last page that is known to be sent, wherever it broke', async () => {
    // Begin, verify, decide, page, row, send; then page, rows, send for each three files; then the seal.
    for (let at = 0; at < 20; at += 1) {
      world.calls.crashAt(at, at % 2 ? 'before' : 'after');
      await expect(consume(request)).rejects.toThrow(CrashError);
      world.calls.revive();
      const savedTo = (await world.row(requestId))?.sentTo ?? '';
      const before = sent().length;
      expect(await consume(request)).toMatchObject({ outcome: 'accepted', files: 34 });
      const expected = fileIds.filter((id) => rowIdOf(id) > savedTo);
      expect(sent().length - before).toBe(expected.length);
      expect([...new Set(sent())]).toEqual(fileIds);
      expect(await world.audit()).toHaveLength(1);
      await world.forget();
      world.fileExports.sent.length = 0;
      world.smallFileExports.sent.length = 0;
    }
  });

  test('sends nothing once everything is sent, and is accepted all the same', async () => {
    await consume(request);
    world.calls.names.length = 0;
    expect(await consume(request)).toEqual({ outcome: 'accepted', requestId, datasetId: 'EGAD1', files: 34 });
    expect(world.calls.names).toEqual(['ledger.begin', 'ledger.finalizable']);
    expect(sent()).toEqual(fileIds);
  });

  test('is asked for the rights again: a dataset that was withdrawn meanwhile gets no more messages', async () => {
    world.calls.crashAt(30, 'before');
    await expect(consume(request)).rejects.toThrow(CrashError);
    world.calls.revive();
    const before = sent();
    world.catalogue.setReleased('EGAD1', false);
    expect(await consume(request)).toMatchObject({ outcome: 'rejected', reason: 'not_released' });
    expect(sent()).toEqual(before);
  });

  test('stops in time, and another delivery sends the rest, each file once', async () => {
    let asked = 0;
    const soonOver = () => (++asked > 10 ? 19_999 : 300_000);
    const first = consumeExportRequest(received(request), world.consuming, soonOver);
    await expect(first).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    expect(sent()).toHaveLength(30);
    expect(await consume(request)).toMatchObject({ outcome: 'accepted', files: 34 });
    expect(sent()).toEqual(fileIds);
  });
});
