import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { consumeExportRequest } from '../../../../lib/service/export/accept.ts';
import { ExportPipeline, hoursFromNow, subject } from '../../../helpers/export-pipeline.ts';
import { vectorKey } from '../../../helpers/export-world.ts';

const MiB = 1024 * 1024;
const gib = 1_073_741_824;
const ids = ['1', '2', '3'].map((digit) => `6f1d7a9e-3b1c-4d0e-9a57-00000000000${digit}`) as [string, string, string];
const [id, other, third] = ids;
const key = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const fingerprint = createHash('sha256').update(vectorKey('bob').publicKey).digest('hex');
/** The byte length of `iss` comes first. */
const recipient = createHash('sha256').update('22:https://issuer.exampleresearcher').digest('hex');
const request = { jwtToken: 'visa', publicKey: key, datasetId: 'EGAD1' };
const oneFile = (fileId: string, more: object = {}) => ({ jwtToken: 'visa', publicKey: key, fileId, ...more });

let world: ExportPipeline;
const consume = (
  body: unknown,
  attributes: Readonly<Record<string, string>> = { requestId: id, archiveKind: 'fega' },
) => {
  world.put('exportRequests', body, attributes);
  return world.consume();
};
const forget = () => world.database.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log');
const grant = (datasetId: string, sub = subject.sub) => ({
  ...{ datasetId, subject: { ...subject, sub } },
  ...{ expiresAt: hoursFromNow(24), dependsOn: [] },
});
/** What the audit trail says of a request. */
const trail = async (requestId: string) =>
  (
    await world.database.sql(`select json_build_array(event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint)
      from data_out.export_log where request_id = '${requestId}' order by id`)
  ).map(([json]) => JSON.parse(json ?? ''));

async function open(): Promise<void> {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2']);
  await world.addDataset('EGAD2', ['F8', 'F9']);
  await world.event('EGAD2', 'deprecated');
  await world.addDataset('EGAD3', ['F9']);
  await world.addDataset('EGAD4', []);
  await world.addDataset('EGAD5', ['F9']);
  await world.database.sql(`insert into sda.dataset_references (dataset_id, reference_id, reference_scheme)
    select id, 'doi:1', 'DOI' from sda.datasets where stable_id = 'EGAD1'`);
}

test('an accepted request has a row with all that its files need, a row for each file, and a message that names it', async () => {
  await open();
  world.grant('EGAD1', 'visa', { dependsOn: [recipient, 'b'.repeat(64)], expiresAt: new Date('2099-01-01T00:00:00Z') });
  expect(await consume(request)).toEqual({ outcome: 'accepted', requestId: id, datasetId: 'EGAD1', files: 2 });
  expect(await world.requestRow(id)).toMatchObject({
    ...{ state: 'accepted', archive_kind: 'fega', kind: 'dataset', dataset_id: 'EGAD1', file_id: null, recipient },
    ...{ key_fingerprint: fingerprint, public_key: key, depends_on: ['b'.repeat(64)], files: 2 },
    ...{ visa_expires_at: '2099-01-01T00:00:00+00:00', revision: 1, settled_revision: 0 },
  });
  expect(await world.statesOf(id)).toEqual(['F1: sent', 'F2: sent']);
  // A header of 124 bytes and the body.
  expect(await world.fileRow(id, 'F1')).toMatchObject({ bytes: 224 });
  expect(world.sentFiles).toEqual(['F1', 'F2'].map((fileId) => ({ requestId: id, fileId })));
  expect([...world.groups]).toEqual([recipient]);
  expect(await trail(id)).toEqual([['accepted', null, 'fega', 'EGAD1', null, recipient, fingerprint]]);
  expect(world.queues.deliveries).toEqual([]);
});

describe('a request is rejected for one reason', () => {
  type Facts = readonly [
    dataset: string | null,
    file: string | null,
    recipient: string | null,
    fingerprint: string | null,
  ];
  const nothing: Facts = [null, null, null, null];
  const named: Facts = ['EGAD1', null, null, fingerprint];
  const cases: readonly (readonly [reason: string, body: unknown, facts: Facts])[] = [
    ['malformed_message', '{"jwtToken":"secret-visa', nothing],
    ['malformed_message', { ...request, fileId: 'F1' }, nothing],
    ['malformed_message', { ...request, datasetId: undefined }, nothing],
    ['malformed_message', { ...request, jwtToken: 'v'.repeat(16_385) }, nothing],
    ['malformed_message', { ...request, surprise: true }, nothing],
    ['malformed_message', { ...request, datasetId: 'EGAD1\u0000' }, nothing],
    ['unusable_public_key', { ...request, publicKey: 'AAAA' }, ['EGAD1', null, null, null]],
    ['visa_malformed_token', { ...request, jwtToken: 'unknown' }, named],
    ['visa_bad_signature', { ...request, jwtToken: 'forged' }, named],
    ['unknown_dataset', { ...request, datasetId: 'EGAD99' }, ['EGAD99', null, null, fingerprint]],
    ['unknown_file', oneFile('F0'), [null, 'F0', null, fingerprint]],
    ['not_entitled', { ...request, datasetId: 'EGAD3' }, ['EGAD3', null, null, fingerprint]],
    ['not_entitled', { ...request, jwtToken: 'nothing' }, named],
    ['not_entitled', { ...request, jwtToken: 'similar' }, named],
    ['not_entitled', oneFile('F9'), [null, 'F9', null, fingerprint]],
    ['not_released', { ...request, datasetId: 'EGAD2', jwtToken: 'all' }, ['EGAD2', null, null, fingerprint]],
    ['not_released', oneFile('F8', { jwtToken: 'all' }), [null, 'F8', null, fingerprint]],
    ['nothing_to_export', { ...request, datasetId: 'EGAD4', jwtToken: 'all' }, ['EGAD4', null, recipient, fingerprint]],
    // The first broken rule in the order of the decisions.
    ['unusable_public_key', { ...request, publicKey: 'AAAA', jwtToken: 'forged' }, ['EGAD1', null, null, null]],
    ['visa_expired', { ...request, datasetId: 'EGAD99', jwtToken: 'old' }, ['EGAD99', null, null, fingerprint]],
    ['not_entitled', { ...request, datasetId: 'EGAD2' }, ['EGAD2', null, null, fingerprint]],
  ];

  beforeAll(async () => {
    await open();
    world.visas.set('old', 'expired').set('forged', 'bad_signature').set('nothing', []);
    const all = (...datasets: readonly string[]) => datasets.map((datasetId) => grant(datasetId));
    world.visas.set('similar', all('EGAD10', 'EGAD', 'egad1', 'EGAD1 ', 'EGAD1\u0000'));
    world.visas.set('all', all('EGAD1', 'EGAD2', 'EGAD3', 'EGAD4'));
  });
  beforeEach(forget);

  test.each(cases)('%s: %j', async (reason, body, facts) => {
    expect(await consume(body)).toMatchObject({ outcome: 'rejected', requestId: id, reason });
    const [dataset, file, known, print] = facts;
    expect(await trail(id)).toEqual([['rejected', reason, 'fega', dataset, file, known, print]]);
    expect(await world.requestRow(id)).toMatchObject({
      ...{ state: 'rejected', reason, dataset_id: dataset, file_id: file, recipient: known, key_fingerprint: print },
      ...{ public_key: null, depends_on: null, settled_revision: 1 },
    });
    expect([world.sentFiles, world.queues.deliveries, await world.statesOf(id)]).toEqual([[], [], []]);
  });

  test.each([{ requestId: 'not-a-uuid' }, { requestId: id, archiveKind: 'a\nb' }])(
    'malformed_message under the id of the message: %j',
    async (attributes) => {
      world.put('exportRequests', request, attributes);
      const messageId = world.queues.exportRequests[0]?.messageId ?? '';
      await world.consume();
      expect(await trail(messageId)).toEqual([['rejected', 'malformed_message', ...Array(5).fill(null)]]);
    },
  );

  test('too_many_files beyond two million, which one of the files is not', async () => {
    const asked: unknown[] = [];
    const catalogue = {
      ...world.consuming.catalogue,
      hasMoreFiles: async (...most: readonly unknown[]) => asked.push(most) > 0,
    };
    const decide = (body: object, requestId: string) => {
      const message = { messageId: requestId, body: JSON.stringify(body), sentAt: world.now, attributes: {} };
      return consumeExportRequest(message, { ...world.consuming, catalogue }, () => 900_000);
    };
    expect(await decide(request, id)).toMatchObject({ outcome: 'rejected', reason: 'too_many_files' });
    expect(await trail(id)).toEqual([['rejected', 'too_many_files', null, 'EGAD1', null, recipient, fingerprint]]);
    expect(await decide(oneFile('F1'), other)).toMatchObject({ outcome: 'accepted', files: 1 });
    expect(asked).toEqual([['EGAD1', 2_000_000]]);
  });

  test('and stays rejected, whatever a redelivery could decide', async () => {
    world.grant('EGAD2', 'late');
    const late = { ...request, datasetId: 'EGAD2', jwtToken: 'late' };
    await consume(late);
    await world.event('EGAD2', 'released');
    expect(await consume(late)).toMatchObject({ outcome: 'rejected', reason: 'not_released' });
    await world.event('EGAD2', 'deprecated');
    expect([await world.statesOf(id), await world.audit()]).toEqual([[], ['rejected not_released']]);
  });
});

describe('a request is accepted', () => {
  beforeAll(open);
  beforeEach(async () => {
    await forget();
    for (const queue of Object.values(world.queues)) queue.length = 0;
    world.grant('EGAD1');
  });

  test('under the id of its message when the sender gave none', async () => {
    world.put('exportRequests', request);
    const messageId = world.queues.exportRequests[0]?.messageId ?? '';
    expect(await world.consume()).toMatchObject({ outcome: 'accepted', requestId: messageId });
    expect(await world.requestRow(messageId)).toMatchObject({ archive_kind: null });
  });

  const sentAt = new Date('2026-11-21T09:59:00.123Z');
  test.each([
    ['the time that the proxy said', '2026-11-14T08:00:00.500Z', '2026-11-14T08:00:00.5+00:00'],
    ['also when its clock is a minute ahead', '2026-11-21T10:00:00.123Z', '2026-11-21T10:00:00.123+00:00'],
    [
      'when the queue took it instead of a time in the future',
      '2026-11-21T10:00:00.124Z',
      '2026-11-21T09:59:00.123+00:00',
    ],
    ['when the queue took it instead of words', 'yesterday', '2026-11-21T09:59:00.123+00:00'],
    [
      'when the queue took it instead of a day that does not exist',
      '2026-02-30T08:00:00.000Z',
      '2026-11-21T09:59:00.123+00:00',
    ],
  ])('as made at %s', async (_, requestedAt, expected) => {
    const before = world.now;
    world.now = sentAt;
    await consume(request, { requestId: id, requestedAt });
    world.now = before;
    expect(await world.requestRow(id)).toMatchObject({ requested_at: expected });
  });

  test('for the subject of the first visa that grants the dataset', async () => {
    world.visas.set('visa', [grant('EGAD3', 'r2'), grant('EGAD1'), grant('EGAD1', 'r3')]);
    await consume(request);
    expect(await world.requestRow(id)).toMatchObject({ recipient });
  });

  test('once: a visa that expires before the redelivery cannot cut it in half', async () => {
    // After the first look at the rows, the visa and the access.
    world.calls.crashAt(4, 'after');
    await expect(consume(request)).rejects.toThrow('died in db.transaction');
    expect([await world.statesOf(id), world.sentFiles]).toEqual([['F1: waiting', 'F2: waiting'], []]);
    world.visas.set('visa', 'expired');
    await world.event('EGAD1', 'deprecated');
    expect(await world.consume()).toMatchObject({ outcome: 'accepted', files: 2 });
    await world.event('EGAD1', 'released');
    expect(await world.statesOf(id)).toEqual(['F1: sent', 'F2: sent']);
    expect(world.sentFiles).toHaveLength(2);
  });

  test('after a failure of any call, which rejects nothing', async () => {
    const failure = new Error('down');
    const start = world.calls.names.length;
    await consume(request);
    const calls = world.calls.names.slice(start);
    for (const at of calls.keys()) {
      const requestId = `6f1d7a9e-3b1c-4d0e-9a58-${String(at).padStart(12, '0')}`;
      world.calls.failAt(at, 'before', failure);
      await expect(consume(request, { requestId }), calls[at]).rejects.toBe(failure);
      expect((await world.requestRow(requestId))?.state).not.toBe('rejected');
      expect(await world.consume()).toMatchObject({ outcome: 'accepted', requestId, files: 2 });
    }
    // A rejection is also tried again.
    world.visas.set('visa', 'expired');
    world.calls.failAt(2, 'before', failure);
    await expect(consume(request, { requestId: other })).rejects.toBe(failure);
    expect(await world.requestRow(other)).toBeUndefined();
    expect(await world.consume()).toMatchObject({ outcome: 'rejected' });
  });

  test('and each file goes to the queue of its size', async () => {
    await world.addDataset('EGAD6', ['S0', 'S1', 'S2', 'S3']);
    for (const [fileId, size] of [
      ['S0', 0],
      ['S1', 8 * MiB],
      ['S2', 8 * MiB + 1],
      ['S3', null],
    ] as const)
      await world.database.sql(`update sda.files set archive_file_size = ${size} where stable_id = '${fileId}'`);
    world.grant('EGAD6');
    await consume({ ...request, datasetId: 'EGAD6' });
    const bodies = (queue: 'fileExports' | 'smallFileExports') =>
      world.queues[queue].map(({ body }) => JSON.parse(body).fileId);
    expect([bodies('smallFileExports'), bodies('fileExports')]).toEqual([['S0', 'S1', 'S3'], ['S2']]);
  });
});

describe('a quota of the outbox', () => {
  beforeAll(async () => {
    await open();
    const datasets = { SIX: ['G1', 'G2'], FOUR: ['G3'], BOTH: ['G1', 'G2', 'G3'], BYTE: ['G4'] };
    for (const [datasetId, files] of Object.entries(datasets)) await world.addDataset(datasetId, files);
    const all = Object.keys(datasets).map((datasetId) => grant(datasetId));
    world.visas
      .set('all', all)
      .set('another', [grant('BOTH', 'another')])
      .set('strange', [grant('EGAD2')]);
  });
  beforeEach(async () => {
    await forget();
    world.quota = { gib: 10, expiryDays: 30 };
    // A container is the header, in hex here, and the body: 3, 3 and 4 GiB, and one byte.
    for (const [fileId, size, header] of [
      ['G1', 3 * gib - 2, '0000'],
      ['G2', 3 * gib - 2, '0000'],
      ['G3', 4 * gib - 2, '0000'],
      ['G4', 0, '00'],
    ])
      await world.database.sql(
        `update sda.files set archive_file_size = ${size}, header = '${header}' where stable_id = '${fileId}'`,
      );
  });
  const ask = async (wanted: string, requestId: string, jwtToken = 'all') => {
    const body = wanted.startsWith('G') ? oneFile(wanted, { jwtToken }) : { ...request, jwtToken, datasetId: wanted };
    const answer = await consume(body, { requestId });
    return answer?.outcome === 'rejected' ? answer.reason : answer?.outcome;
  };
  const files = (change: string, which: string) =>
    world.database.sql(`update data_out.request_files set ${change} where request_id = '${which}'`);

  test('is filled to the last byte and not beyond, and a request that does not fit leaves its audit row', async () => {
    expect([await ask('SIX', id), await ask('FOUR', other)]).toEqual(['accepted', 'accepted']);
    expect(await ask('BYTE', third)).toBe('outbox_quota_exceeded');
    expect(await world.statesOf(third)).toEqual([]);
    expect(await trail(third)).toEqual([
      ['rejected', 'outbox_quota_exceeded', null, 'BYTE', null, recipient, fingerprint],
    ]);
  });

  test('is for each recipient', async () => {
    expect([await ask('BOTH', id), await ask('BOTH', other, 'another')]).toEqual(['accepted', 'accepted']);
  });

  test('sees the other of two requests at once', async () => {
    world.put('exportRequests', { ...request, jwtToken: 'all', datasetId: 'SIX' }, { requestId: id });
    world.put('exportRequests', { ...request, jwtToken: 'all', datasetId: 'BOTH' }, { requestId: other });
    world.quota = { gib: 9, expiryDays: 30 };
    const outcomes = await Promise.all([world.consume(), world.consume()]);
    expect(outcomes.map((one) => one?.outcome).sort()).toEqual(['accepted', 'rejected']);
    // What two transactions at once wait for comes before what they see.
    const statements = world.database.bodies.map((body) => /pg_advisory_xact_lock|sum\(largest/.exec(body)?.[0]);
    expect(statements.filter((one) => one !== undefined).slice(-4)).toEqual([
      ...['pg_advisory_xact_lock', 'sum(largest', 'pg_advisory_xact_lock', 'sum(largest'],
    ]);
  });

  test('counts a file once, with its largest container', async () => {
    expect([await ask('BOTH', id), await ask('BOTH', other)]).toEqual(['accepted', 'accepted']);
    await files(`state = 'staged', bytes = ${3 * gib + 1}`, id);
    expect(await ask('G1', third)).toBe('outbox_quota_exceeded');
  });

  test('counts the one file that was asked for', async () => {
    expect([await ask('G3', id), await ask('G1', other), await ask('BYTE', third)]).toEqual(Array(3).fill('accepted'));
  });

  test.each([
    ['expired, whatever a late deletion takes', "changed_at = now() - interval '32 days'"],
    ['was withdrawn', "state = 'withdrawn'"],
    ['was given up', "state = 'given_up'"],
  ])('is free again when a container %s', async (_, change) => {
    await ask('SIX', id);
    await ask('FOUR', other);
    await files("state = 'staged'", other);
    // S3 counts an expiry from the next midnight, and deletes some time later.
    await files("changed_at = now() - interval '31 days 23 hours'", other);
    expect(await ask('BYTE', third)).toBe('outbox_quota_exceeded');
    await world.database.sql(`delete from data_out.requests where request_id = '${third}'`);
    await files(change, other);
    expect(await ask('BYTE', third)).toBe('accepted');
  });

  test('does not stop a request that was accepted: its redelivery sends the files', async () => {
    await ask('SIX', id);
    await files("state = 'waiting'", id);
    world.quota = { gib: 1, expiryDays: 30 };
    expect(await ask('SIX', id)).toBe('accepted');
    expect(await world.statesOf(id)).toEqual(['G1: sent', 'G2: sent']);
  });

  test('is asked for after entitlement and release: a stranger does not learn how full an outbox is', async () => {
    world.quota = { gib: 0, expiryDays: 30 };
    expect(await ask('SIX', id, 'strange')).toBe('not_entitled');
    expect(await ask('EGAD2', other, 'strange')).toBe('not_released');
  });
});
