import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { entryHash } from '../../../../lib/contract/deny-list.ts';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { decrypt, publicKeyFingerprint } from '../../../../lib/crypt4gh/index.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { stageFile } from '../../../helpers/stage-one.ts';

const MiB = 1024 * 1024;
const recipient = 'ab'.repeat(32);
const older = '2026-11-21T09:00:00.000Z';
const newer = '2026-11-21T09:00:00.001Z';
const requestA = '11111111-1111-4111-8111-111111111111';
const requestB = '22222222-2222-4222-8222-222222222222';
/**
 * Of `split/body.bin` under `split/header.bin`: the sum the manifest gives for pos-07, made by another implementation.
 */
const plaintextSha256 = '7fe21a19a553e1e2e1c6642c9abbbf848f01f43f61c3ba4e2f4ed6f596d277af';
const outboxKey = `${recipient}/EGAF1-sample.bam.c4gh`;

const message = (overrides: Record<string, unknown> = {}) => ({
  messageId: '99999999-9999-4999-8999-999999999999',
  sentAt: new Date('2026-11-21T09:00:01.000Z'),
  body: JSON.stringify({
    requestId: requestA,
    requestedAt: older,
    fileId: 'EGAF1',
    datasetId: 'EGAD1',
    recipient,
    publicKey: Buffer.from(vectorKey('bob').publicKey).toString('base64'),
    ...overrides,
  }),
});
const keyOf = (id: string) => Buffer.from(vectorKey(id).publicKey).toString('base64');
const fresh = { redelivered: false, remainingMs: () => 900_000 };

let world: ExportWorld;
beforeEach(() => {
  world = ExportWorld.of(vector('split/body.bin'));
});

/** Bytes without long repeats, made without the cost of a cipher. */
function bodyOf(size: number): Buffer {
  const body = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4096) body.writeUInt32LE(at, at);
  return body;
}

async function sha256Of(bytes: Uint8Array, reader: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of decrypt([bytes], { privateKeys: [vectorKey(reader).privateKey] })) hash.update(chunk);
  return hash.digest('hex');
}
const staged = (key = outboxKey) => world.outbox.objects.get(key)?.bytes ?? new Uint8Array();

test('the container has a new header for the recipient, and decrypts with their key only', async () => {
  expect(await stageFile(message(), world.staging, fresh)).toEqual({
    outcome: 'staged',
    requestId: requestA,
    fileId: 'EGAF1',
    bytes: 124 + 66_057,
    headerSha256: createHash('sha256').update(staged().subarray(0, 124)).digest('hex'),
  });
  expect(await sha256Of(staged(), 'bob')).toBe(plaintextSha256);
  await expect(sha256Of(staged(), 'alice')).rejects.toMatchObject({ code: 'no-decryptable-packet' });
});

test('the body is copied unchanged', async () => {
  await stageFile(message(), world.staging, fresh);
  expect(Buffer.from(staged().subarray(124)).equals(vector('split/body.bin'))).toBe(true);
});

test('the order of the steps, metadata and audit row', async () => {
  await stageFile(message(), world.staging, fresh);
  expect(world.calls.names).toEqual([
    'denyList.current',
    'catalogue.findReleasedFiles',
    'archiveKeys.candidates',
    'archive.readWhole',
    'outbox.put',
    'ledger.record staged',
  ]);
  const keyFingerprint = createHash('sha256').update(vectorKey('bob').publicKey).digest('hex');
  expect(world.outbox.objects.get(outboxKey)?.metadata).toEqual({
    'request-id': requestA,
    'requested-at': older,
    'file-id': 'EGAF1',
    'dataset-id': 'EGAD1',
    'recipient-key': keyFingerprint,
  });
  const facts = { requestId: requestA, fileId: 'EGAF1', datasetId: 'EGAD1', recipient, keyFingerprint };
  expect(world.rows).toEqual([{ ...facts, event: 'staged', bytes: 66_181, checksum: 'none' }]);
});

test('ids outside ASCII are staged too', async () => {
  world.catalogue.addDataset('données', { released: true, fileIds: ['échantillon/1'] });
  world.addFile('échantillon/1', vector('split/body.bin'), '.b');
  await stageFile(message({ fileId: 'échantillon/1', datasetId: 'données' }), world.staging, fresh);
  expect(await sha256Of(staged(`${recipient}/_c3_a9chantillon_2f1-_b.c4gh`), 'bob')).toBe(plaintextSha256);
});

test('two files of one base name in one dataset both arrive', async () => {
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['EGAF1', 'EGAF2'] });
  world.addFile('EGAF2', vector('split/body.bin'), 'other run/sample.bam');
  await stageFile(message(), world.staging, fresh);
  await stageFile(message({ fileId: 'EGAF2' }), world.staging, fresh);
  expect([...world.outbox.objects.keys()]).toEqual([outboxKey, `${recipient}/EGAF2-sample.bam.c4gh`]);
});

describe('bodies of every size', () => {
  test.each([0, 1, 8 * MiB])('%i bytes: read and put at once', async (size) => {
    const body = bodyOf(size);
    world = ExportWorld.of(body);
    expect(await stageFile(message(), world.staging, fresh)).toMatchObject({ outcome: 'staged', bytes: 124 + size });
    expect(Buffer.from(staged().subarray(124)).equals(body)).toBe(true);
    expect(world.archive.bytesRead).toBe(size);
    expect(world.outbox.bytesCopied).toBe(0);
  });

  test.each([8 * MiB + 1, 70 * MiB])('%i bytes: at most 5 MiB pass through the function', async (size) => {
    const body = bodyOf(size);
    world = ExportWorld.of(body);
    expect(await stageFile(message(), world.staging, fresh)).toMatchObject({ outcome: 'staged', bytes: 124 + size });
    expect(Buffer.from(staged().subarray(124)).equals(body)).toBe(true);
    expect(world.archive.bytesRead).toBe(5 * MiB - 124);
    expect(world.outbox.bytesReceived).toBe(5 * MiB);
    expect(world.outbox.bytesCopied).toBe(size - 5 * MiB + 124);
    expect(world.outbox.uploads.size).toBe(0);
  });
});

describe('again and at once', () => {
  test('a redelivered message whose container exists only makes sure of the audit row', async () => {
    await stageFile(message(), world.staging, fresh);
    world.recorded.events.clear();
    const again = await stageFile(message(), world.staging, { ...fresh, redelivered: true });
    expect(again).toMatchObject({ outcome: 'already_staged', bytes: 66_181 });
    expect(world.outbox.writes).toBe(1);
    expect(world.rows).toEqual([expect.objectContaining({ event: 'staged', bytes: 66_181 })]);
  });

  test('the same file for the same key again gives the same bytes', async () => {
    await stageFile(message(), world.staging, fresh);
    const first = staged();
    await stageFile(message({ requestId: requestB, requestedAt: newer }), world.staging, fresh);
    expect(world.outbox.writes).toBe(2);
    expect(Buffer.from(staged()).equals(first)).toBe(true);
  });

  test('a message from the future counts as from when the queue took it, and supersedes no later request', async () => {
    await stageFile(message({ requestedAt: '2099-01-01T00:00:00.000Z' }), world.staging, fresh);
    expect(world.outbox.objects.get(outboxKey)?.metadata['requested-at']).toBe('2026-11-21T09:00:01.000Z');
    const later = message({ requestId: requestB, requestedAt: '2026-11-21T09:05:00.000Z' });
    const outcome = await stageFile({ ...later, sentAt: new Date('2026-11-21T09:05:01.000Z') }, world.staging, fresh);
    expect(outcome).toMatchObject({ outcome: 'staged', requestId: requestB });
  });

  test.each([
    ['moved back from the dead letters a week later', older, '2026-11-28T09:00:00.000Z'],
    [
      "of a sender whose clock is a minute ahead of the queue's",
      '2026-11-21T09:01:00.000Z',
      '2026-11-21T09:00:00.000Z',
    ],
  ])('a message %s keeps its time', async (_, requestedAt, sentAt) => {
    await stageFile({ ...message({ requestedAt }), sentAt: new Date(sentAt) }, world.staging, fresh);
    expect(world.outbox.objects.get(outboxKey)?.metadata['requested-at']).toBe(requestedAt);
  });

  test.each([
    ['a later request', newer, requestA, older, requestB],
    ['at the same instant the greater id', older, requestB, older, requestA],
  ])('%s wins, whichever is staged last', async (_, winnerAt, winner, loserAt, loser) => {
    const win = message({ requestedAt: winnerAt, requestId: winner, publicKey: keyOf('dave') });
    const lose = message({ requestedAt: loserAt, requestId: loser });
    for (const order of [
      [win, lose],
      [lose, win],
    ]) {
      world = ExportWorld.of(vector('split/body.bin'));
      for (const one of order) await stageFile(one, world.staging, fresh);
      expect(await sha256Of(staged(), 'dave')).toBe(plaintextSha256);
    }
  });

  test.each([66_057, 9 * MiB])('a message delivered twice at once (body of %i bytes)', async (size) => {
    world = ExportWorld.of(size === 66_057 ? vector('split/body.bin') : bodyOf(size));
    const outcomes = await Promise.all([1, 2].map(() => stageFile(message(), world.staging, fresh)));
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['already_staged', 'staged']);
    expect(staged()).toHaveLength(124 + size);
    expect(world.outbox.uploads.size).toBe(0);
    expect(world.rows).toHaveLength(1);
  });

  test.each([66_057, 9 * MiB])(
    'two exports to two keys at once: the newer one stays (body of %i bytes)',
    async (size) => {
      const body = size === 66_057 ? vector('split/body.bin') : bodyOf(size);
      const first = message();
      const second = message({ requestId: requestB, requestedAt: newer, publicKey: keyOf('dave') });
      // One begins up to a dozen port calls before the other: from quite parallel to in turn.
      for (let lead = 0; lead < 12; lead += 1) {
        for (const [ahead, behind] of [
          [first, second],
          [second, first],
        ] as const) {
          world = ExportWorld.of(body);
          const one = stageFile(ahead, world.staging, fresh).catch((error: unknown) => error);
          for (let turn = 0; turn < lead; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          const two = stageFile(behind, world.staging, fresh).catch((error: unknown) => error);
          const results = await Promise.all([one, two]);
          // A delivery that lost at the last moment comes back, as from the queue.
          for (const [index, retried] of [ahead, behind].entries()) {
            if (!(results[index] instanceof Error)) continue;
            expect(results[index]).toMatchObject({ code: 'temporarily_unavailable' });
            await stageFile(retried, world.staging, { ...fresh, redelivered: true });
          }
          const object = world.outbox.objects.get(outboxKey);
          expect(object?.metadata['request-id']).toBe(requestB);
          expect(object?.metadata['recipient-key']).toBe(publicKeyFingerprint(vectorKey('dave').publicKey));
          expect(Buffer.from(staged().subarray(124)).equals(body)).toBe(true);
          expect(world.outbox.uploads.size).toBe(0);
        }
      }
    },
  );

  test('an object that this service did not write is replaced', async () => {
    world.outbox.objects.set(outboxKey, {
      bytes: Buffer.from('?'),
      etag: '"x"',
      lastModified: new Date(0),
      metadata: {},
    });
    expect(await stageFile(message(), world.staging, fresh)).toMatchObject({ outcome: 'staged' });
    expect(await sha256Of(staged(), 'bob')).toBe(plaintextSha256);
  });
});

describe('rejected: nothing is staged', () => {
  test('a dataset withdrawn after the request was accepted', async () => {
    world.catalogue.setReleased('EGAD1', false);
    expect(await stageFile(message(), world.staging, fresh)).toMatchObject({
      outcome: 'rejected',
      reason: 'not_released',
    });
    expect(world.outbox.objects.size).toBe(0);
    expect(world.calls.names).toEqual(['denyList.current', 'catalogue.findReleasedFiles', 'ledger.record rejected']);
    expect(world.rows).toEqual([
      expect.objectContaining({ event: 'rejected', reason: 'not_released', requestId: requestA, fileId: 'EGAF1' }),
    ]);
  });

  const issuer = { iss: 'https://issuer.example.org' };
  const broker = { iss: 'https://broker.example.org' };
  const dependsOn = [
    { ...issuer, jti: 'visa-1' },
    { ...broker, jti: 'passport-1' },
    { ...broker, sub: 'b1' },
  ].map(entryHash);

  test.each([
    ['the visa', { ...issuer, jti: 'visa-1' }],
    ['the passport around it', { ...broker, jti: 'passport-1' }],
    ["the passport's subject", { ...broker, sub: 'b1' }],
    ['the recipient', { ...issuer, sub: 'r1' }],
  ])('%s, denied after the request was accepted', async (_, entry) => {
    world.deniedEntries.push(entry);
    const waiting = message({ recipient: outboxPrefix({ ...issuer, sub: 'r1' }), dependsOn });
    const rejected = { outcome: 'rejected', reason: 'visa_denied' };
    expect(await stageFile(waiting, world.staging, fresh)).toMatchObject(rejected);
    expect(world.calls.names).toEqual(['denyList.current', 'catalogue.findReleasedFiles', 'ledger.record rejected']);
    expect(world.rows).toMatchObject([{ event: 'rejected', reason: 'visa_denied', fileId: 'EGAF1' }]);
  });

  test('another visa, passport or subject that is denied changes nothing', async () => {
    world.deniedEntries.push({ ...issuer, jti: 'passport-1' }, { ...broker, jti: 'visa-1' }, { ...issuer, sub: 'b1' });
    expect(await stageFile(message({ dependsOn }), world.staging, fresh)).toMatchObject({ outcome: 'staged' });
  });

  test('a message of an older version, which says nothing of visas: by its recipient', async () => {
    expect(await stageFile(message(), world.staging, fresh)).toMatchObject({ outcome: 'staged' });
    world.deniedEntries.push({ ...issuer, sub: 'r1' });
    const waiting = message({ recipient: outboxPrefix({ ...issuer, sub: 'r1' }), fileId: 'EGAF1' });
    expect(await stageFile(waiting, world.staging, fresh)).toMatchObject({ reason: 'visa_denied' });
  });

  test('a visa denied while S3 copies: the upload is aborted', async () => {
    world = ExportWorld.of(bodyOf(9 * MiB));
    const delivery = {
      redelivered: false,
      remainingMs: () => {
        if (world.calls.names.includes('upload.copyPart')) world.deniedEntries.push({ ...issuer, jti: 'visa-1' });
        return 900_000;
      },
    };
    const rejected = { outcome: 'rejected', reason: 'visa_denied' };
    expect(await stageFile(message({ dependsOn }), world.staging, delivery)).toMatchObject(rejected);
    expect(world.outbox.objects.size).toBe(0);
    expect(world.outbox.uploads.size).toBe(0);
  });

  test('nothing is staged, and the message comes back, while the deny list cannot be read', async () => {
    world.calls.failAt(0, 'before', unavailable('the deny list cannot be read'));
    await expect(stageFile(message(), world.staging, fresh)).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
    expect(world.rows).toEqual([]);
  });

  test('a dataset withdrawn while S3 copies: the upload is aborted', async () => {
    world = ExportWorld.of(bodyOf(9 * MiB));
    const delivery = {
      redelivered: false,
      remainingMs: () => {
        if (world.calls.names.includes('upload.copyPart')) world.catalogue.setReleased('EGAD1', false);
        return 900_000;
      },
    };
    expect(await stageFile(message(), world.staging, delivery)).toMatchObject({
      outcome: 'rejected',
      reason: 'not_released',
    });
    expect(world.calls.names).not.toContain('upload.complete');
    expect(world.calls.names.slice(-4)).toEqual([
      'catalogue.isReleased EGAD1',
      'upload.abort',
      'copies.forget',
      'ledger.record rejected',
    ]);
    expect(world.outbox.objects.size).toBe(0);
    expect(world.outbox.uploads.size).toBe(0);
  });

  test.each(['{', 'null', JSON.stringify({ fileId: 'EGAF1' })])(
    'a message that is not a file export: %s',
    async (body) => {
      const outcome = await stageFile({ ...message(), body }, world.staging, fresh);
      expect(outcome).toMatchObject({ outcome: 'rejected', reason: 'malformed_message' });
      expect(world.outbox.objects.size).toBe(0);
      expect(world.rows).toEqual([{ requestId: message().messageId, event: 'rejected', reason: 'malformed_message' }]);
    },
  );
});

describe('an unusable public key is rejected', () => {
  test.each([
    ['all zeros', Buffer.alloc(32)],
    ['a point of small order', Buffer.from('01'.padEnd(64, '0'), 'hex')],
    ['31 bytes', Buffer.alloc(31, 7)],
    ['33 bytes', Buffer.alloc(33, 7)],
  ])('%s', async (_, publicKey) => {
    const outcome = await stageFile(message({ publicKey: publicKey.toString('base64') }), world.staging, fresh);
    expect(outcome).toMatchObject({ outcome: 'rejected', reason: 'unusable_public_key', fileId: 'EGAF1' });
    expect(world.calls.names).toEqual(['catalogue.findReleasedFiles', 'ledger.record rejected']);
    expect(world.rows).toEqual([
      expect.objectContaining({ event: 'rejected', reason: 'unusable_public_key', requestId: requestA, recipient }),
    ]);
  });
});

describe('archive and catalogue contradict each other', () => {
  const damaged = async () => {
    const error: unknown = await stageFile(message(), world.staging, fresh).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'archive_damaged' });
    expect(error).toHaveProperty('message', expect.stringContaining('EGAF1'));
    expect(world.outbox.objects.size).toBe(0);
    expect(world.rows).toEqual([expect.objectContaining({ event: 'given_up', reason: 'archive_damaged' })]);
  };

  test('a body of another size', async () => {
    world.archive.set('bodies/EGAF1', vector('split/body.bin').subarray(1));
    await damaged();
  });

  test('a header that no archive key opens', async () => {
    world.archiveKeys = [vectorKey('carol'), vectorKey('dave')];
    await damaged();
  });

  test('a header that is none', async () => {
    const file = world.catalogue.files.get('EGAF1')!;
    world.catalogue.files.set('EGAF1', { ...file, header: Buffer.from('not a header at all') });
    await damaged();
  });

  test('several archive keys: the one that opens the header is found, the result is the same', async () => {
    await stageFile(message(), world.staging, fresh);
    const first = staged();
    world.archiveKeys = [vectorKey('carol'), vectorKey('alice'), vectorKey('dave')];
    await stageFile(message({ requestId: requestB, requestedAt: newer }), world.staging, fresh);
    expect(Buffer.from(staged()).equals(first)).toBe(true);
  });
});
