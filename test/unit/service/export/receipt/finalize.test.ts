import { beforeEach, describe, expect, test } from 'vitest';
import { outboxMetadata } from '../../../../../lib/contract/outbox-key.ts';
import { finalizeDelivery } from '../../../../../lib/service/export/receipt/finalize.ts';
import {
  endedFile,
  fannedOutRequest,
  fingerprint,
  newerRequestId,
  ReceiptWorld,
  recipient,
  requestId,
  stagedFile,
} from '../../../../helpers/receipt-world.ts';

const ample = () => 900_000;
const key = `${recipient}/EGAD1-${requestId}.delivery.jws`;

let world: ReceiptWorld;
beforeEach(() => {
  world = new ReceiptWorld();
  world.log.rows = ['EGAF1', 'EGAF2', 'EGAF3'].map((fileId) => stagedFile(fileId));
});
const settle = (dependencies = world.dependencies()) => finalizeDelivery(requestId, dependencies, ample);

describe('a complete delivery', () => {
  test('is listed file by file, one per line, under a signature that another library accepts', async () => {
    expect(await settle()).toEqual({
      outcome: 'settled',
      state: 'complete',
      staged: 3,
      missing: 0,
      seconds: 3600.9,
    });
    expect(world.receipt().key).toBe(key);
    const { header, text, payload } = await world.verified();
    expect(header).toEqual({ alg: 'ES256', kid: 'key-1', typ: 'data-out-delivery+jwt' });
    expect(payload).toEqual({
      iss: 'org.example.data-out',
      iat: 1_795_255_200,
      jti: requestId,
      requested_at: '2026-11-21T09:00:00.000Z',
      generation: 1,
      dataset: 'EGAD1',
      kind: 'dataset',
      key_fingerprint: fingerprint,
      complete: true,
      files: ['EGAF1', 'EGAF2', 'EGAF3'].map((fileId) => ({
        name: `${fileId}-${fileId}.bam.c4gh`,
        file_id: fileId,
        path: `runs/${fileId}.bam`,
        size: 65_688,
        plaintext_size: 65_536,
        plaintext_sha256: '12'.repeat(32),
        crc64nvme: 'AAAAAAAAAAA=',
        header_sha256: '34'.repeat(32),
      })),
      missing: [],
    });
    expect(text.split('\n').filter((line) => line.startsWith('{"name"'))).toHaveLength(3);
    expect(text).toMatch(/\n\],"missing":\[\n\],"complete":true\}\n$/);
  });

  test('is recorded before the receipt is visible, and the receipt after it', async () => {
    await settle();
    expect(world.calls.names).toEqual([
      ...['ledger.find', 'outbox.head', 'signer.identity', 'ledger.files', 'ledger.files', 'signer.sign'],
      ...['ledger.finalize', 'outbox.put', 'ledger.close'],
    ]);
    expect(world.log.end).toEqual({ state: 'complete', staged: 3, stagedBytes: 3 * 65_688 });
    expect([world.log.request?.finalizedRevision, world.log.lastReceipt]).toEqual([1, 1]);
    expect(world.outbox.objects.get(key)?.metadata).toEqual({
      'request-id': requestId,
      'requested-at': '2026-11-21T09:00:00.000Z',
      'dataset-id': 'EGAD1',
      generation: '1',
    });
  });

  test('of one file is named after the file', async () => {
    world.log.request = fannedOutRequest({ kind: 'file', fileId: 'EGAF1-x' });
    world.log.rows = [stagedFile('EGAF1-x')];
    await settle();
    expect(world.receipt().key).toBe(`${recipient}/EGAF1_2dx-${requestId}.delivery.jws`);
    expect((await world.verified()).payload).toMatchObject({ kind: 'file', dataset: 'EGAD1' });
  });

  test('has a name within the limit also for the longest id', async () => {
    world.log.request = fannedOutRequest({ datasetId: 'é'.repeat(256) });
    await settle();
    expect(world.receipt().key).toMatch(/^[0-9a-f]{64}\/__[0-9a-f]{64}-[0-9a-f-]{36}\.delivery\.jws$/);
  });

  test('leaves out what neither catalogue nor S3 says', async () => {
    const [file] = world.log.rows;
    const newest = { ...file!.newest!, crc64nvme: undefined };
    world.log.rows = [{ ...file!, plaintextSize: undefined, plaintextSha256: undefined, newest }];
    await settle();
    const [listed] = (await world.verified()).payload.files;
    expect(Object.keys(listed!)).toEqual(['name', 'file_id', 'path', 'size', 'header_sha256']);
  });

  test('keeps every character of a path', async () => {
    world.log.rows = [stagedFile('EGAF1', { path: 'ä/"\\\n\u2028\u{1f9ec}.bam' })];
    await settle();
    expect((await world.verified()).payload.files[0]?.path).toBe('ä/"\\\n\u2028\u{1f9ec}.bam');
  });
});

describe('a file counts as', () => {
  const newer = (overrides = {}) => ({
    ...stagedFile('EGAF2').newest!,
    requestId: newerRequestId,
    size: 70_000,
    crc64nvme: 'AQEBAQEBAQE=',
    headerSha256: '56'.repeat(32),
    ...overrides,
  });

  test.each(['staged', 'superseded'] as const)(
    'delivered when it is %s and a newer request wrote it for the same key',
    async (state) => {
      world.log.rows[1] = stagedFile('EGAF2', { state, newest: newer() });
      expect(await settle()).toMatchObject({ state: 'complete', staged: 3 });
      expect((await world.verified()).payload.files[1]).toMatchObject({
        size: 70_000,
        crc64nvme: 'AQEBAQEBAQE=',
        header_sha256: '56'.repeat(32),
      });
      expect(world.log.end?.stagedBytes).toBe(2 * 65_688 + 70_000);
    },
  );

  test.each(['staged', 'superseded'] as const)(
    'missing when it is %s and a newer request wrote it for another key',
    async (state) => {
      world.log.rows[1] = stagedFile('EGAF2', { state, newest: newer({ keyFingerprint: 'ef'.repeat(32) }) });
      expect(await settle()).toEqual({
        outcome: 'settled',
        state: 'incomplete',
        staged: 2,
        missing: 1,
        seconds: 3600.9,
      });
      const { payload } = await world.verified();
      expect(payload.complete).toBe(false);
      expect(payload.files.map(({ file_id }) => file_id)).toEqual(['EGAF1', 'EGAF3']);
      expect(payload.missing).toEqual([
        { file_id: 'EGAF2', path: 'runs/EGAF2.bam', reason: 'superseded', by: newerRequestId },
      ]);
    },
  );

  test.each([
    ['rejected', 'not_released', 'not_released'],
    ['rejected', undefined, 'rejected'],
    // Reasons of other states are for operators.
    ['given_up', 'archive_damaged', 'given_up'],
    ['withdrawn', 'deprecated', 'withdrawn'],
  ] as const)('missing when it is %s for %s: %s', async (state, given, reason) => {
    world.log.rows[0] = endedFile('EGAF1', state, given);
    expect(await settle()).toMatchObject({ missing: 1 });
    expect((await world.verified()).payload.missing).toEqual([{ file_id: 'EGAF1', path: 'runs/EGAF1.bam', reason }]);
  });

  test.each(['pending', 'retrying', 'staged'] as const)(
    'undecided while the newer request has its row %s and no container: the message comes back',
    async (state) => {
      const supersededBy = { requestId: newerRequestId, state };
      world.log.rows[1] = stagedFile('EGAF2', { state: 'superseded', newest: undefined, supersededBy });
      await expect(settle()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
      expect([world.outbox.objects.size, world.log.end]).toEqual([0, undefined]);
    },
  );

  // Rows are written before messages: a request without a row is from a version that wrote none.
  test.each([undefined, 'withdrawn', 'superseded', 'rejected', 'given_up'] as const)(
    'superseded for good when the newer row is %s',
    async (state) => {
      const supersededBy = { requestId: newerRequestId, state };
      world.log.rows[1] = stagedFile('EGAF2', { state: 'superseded', newest: undefined, supersededBy });
      expect(await settle()).toMatchObject({ state: 'incomplete' });
      expect((await world.verified()).payload.missing).toMatchObject([{ reason: 'superseded', by: newerRequestId }]);
    },
  );
});

describe('the state is', () => {
  test('withdrawn when all that is missing was withdrawn', async () => {
    world.log.rows[0] = endedFile('EGAF1', 'withdrawn');
    expect(await settle()).toMatchObject({ state: 'withdrawn', staged: 2 });
    expect((await world.verified()).payload.complete).toBe(false);
  });

  test('incomplete when other files are missing, too', async () => {
    world.log.rows = [endedFile('EGAF1', 'withdrawn'), endedFile('EGAF2', 'given_up')];
    expect(await settle()).toMatchObject({ state: 'incomplete', staged: 0 });
  });

  test('failed when the fan-out was given up, however many files exist', async () => {
    world.log.request = fannedOutRequest({ state: 'failed' });
    expect(await settle()).toMatchObject({ state: 'failed', staged: 3, missing: 0 });
    expect((await world.verified()).payload).toMatchObject({ complete: false, missing: [] });
  });

  test.each([
    ['the request is not known, not sealed, rejected or empty', undefined],
    ['a file is open', fannedOutRequest({ isOpen: true })],
  ])('left alone when %s', async (_, request) => {
    world.log.request = request;
    expect(await settle()).toEqual({ outcome: 'not_settled' });
    expect(world.calls.names).toEqual(['ledger.find']);
  });

  test('left alone, without a receipt, when a replay opens a file in the meantime', async () => {
    world.log.onPage = (page) => {
      if (page === 1) world.log.request = fannedOutRequest({ receiptRevision: 2, isOpen: true });
    };
    expect(await settle()).toEqual({ outcome: 'not_settled' });
    expect(world.outbox.objects.size).toBe(0);
  });

  test('recorded without a receipt where the settings want none', async () => {
    world.log.rows[0] = endedFile('EGAF1', 'rejected', 'not_released');
    const { ledger, now } = world.dependencies();
    expect(await finalizeDelivery(requestId, { ledger, now }, ample)).toMatchObject({
      state: 'incomplete',
      missing: 1,
    });
    expect(world.log.end).toEqual({ state: 'incomplete', staged: 2, stagedBytes: 2 * 65_688 });
    expect([world.log.request?.finalizedRevision, world.log.lastReceipt]).toEqual([1, 0]);
    expect(await finalizeDelivery(requestId, { ledger, now }, ample)).toEqual({ outcome: 'already_settled' });
    expect(world.calls.names.some((name) => /outbox|signer/.test(name))).toBe(false);
  });
});

describe('generations', () => {
  test('a settled one is settled once', async () => {
    await settle();
    world.calls.names.length = 0;
    expect(await settle()).toEqual({ outcome: 'already_settled' });
    expect(world.calls.names).toEqual(['ledger.find']);
  });

  test('the next one takes the place of the receipt', async () => {
    world.log.rows[0] = endedFile('EGAF1', 'given_up');
    await settle();
    world.log.request = { ...world.log.request!, receiptRevision: 2 };
    world.log.rows[0] = stagedFile('EGAF1');
    expect(await settle()).toMatchObject({ outcome: 'settled', state: 'complete' });
    expect((await world.verified()).payload).toMatchObject({ generation: 2, complete: true });
    expect([world.log.request?.finalizedRevision, world.log.lastReceipt]).toEqual([2, 2]);
  });

  test.each(['1', '7'])(
    'a receipt of generation %s that was not recorded is recorded, and not replaced',
    async (generation) => {
      await world.outbox.put(key, Buffer.from('there'), { [outboxMetadata.generation]: generation });
      expect(await settle()).toEqual({ outcome: 'already_settled' });
      expect(world.receipt().jws).toBe('there');
      expect(world.log.lastReceipt).toBe(1);
    },
  );

  test('an object without a generation is replaced', async () => {
    await world.outbox.put(key, Buffer.from('foreign'), {});
    await settle();
    expect((await world.verified()).payload.generation).toBe(1);
  });

  /** The outbox, where another invocation writes the receipt at each of the first publications. */
  function raced(generations: readonly string[]) {
    const left = [...generations];
    const { outbox } = world;
    const racing: typeof outbox.put = async (...parameters) => {
      const generation = left.shift();
      if (generation !== undefined) {
        outbox.objects.delete(key);
        await outbox.put(key, Buffer.from(`of ${generation}`), { [outboxMetadata.generation]: generation });
      }
      return outbox.put(...parameters);
    };
    return world.dependencies({
      head: (name) => outbox.head(name),
      put: racing,
      startUpload: (name, metadata) => outbox.startUpload(name, { ...metadata }),
    });
  }

  test('of two invocations at once, the second leaves the receipt of the first', async () => {
    expect(await settle(raced(['1']))).toMatchObject({ outcome: 'settled' });
    expect(world.receipt().jws).toBe('of 1');
    expect(world.log.lastReceipt).toBe(1);
  });

  test('an older receipt that another invocation writes meanwhile is replaced', async () => {
    world.log.request = fannedOutRequest({ receiptRevision: 2 });
    await settle(raced(['1']));
    expect((await world.verified()).payload.generation).toBe(2);
  });

  test('a receipt that changes again and again lets the message come back', async () => {
    world.log.request = fannedOutRequest({ receiptRevision: 3 });
    await expect(settle(raced(['1', '2']))).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
    expect(world.log.lastReceipt).toBe(0);
  });
});

describe('trouble', () => {
  test('missing files that change between the two readings let the message come back', async () => {
    world.log.rows = ['EGAF1', 'EGAF2'].map((fileId) => endedFile(fileId, 'given_up'));
    let pages = 0;
    world.log.onPage = () => {
      pages += 1;
      if (pages === 2) world.log.rows = [endedFile('EGAF1', 'withdrawn'), endedFile('EGAF2', 'given_up')];
    };
    await expect(settle()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    expect(world.log.end).toBeUndefined();
  });

  test('an invocation that ends soon stops before a page', async () => {
    const settling = finalizeDelivery(requestId, world.dependencies(), () => 100);
    await expect(settling).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    expect(world.outbox.objects.size).toBe(0);
  });

  test.each(['before', 'after'] as const)(
    'a crash %s any call leaves one receipt when the message comes again',
    async (when) => {
      let survived = 0;
      for (let at = 0; ; at += 1) {
        world = new ReceiptWorld();
        world.log.rows = [stagedFile('EGAF1'), endedFile('EGAF2', 'rejected', 'not_released'), stagedFile('EGAF3')];
        world.calls.crashAt(at, when);
        const first = await settle().catch((error: Error) => error.name);
        if (!world.calls.revive()) break;
        expect(first).toBe('CrashError');
        // A receipt that is visible belongs to a settled request.
        if (world.outbox.objects.size > 0) expect(world.log.end).toBeDefined();
        // One without its receipt is not closed, so that the sweep finds it.
        else expect(world.log.request?.finalizedRevision).toBe(0);
        expect((await settle()).outcome).not.toBe('not_settled');
        expect((await world.verified()).payload).toMatchObject({ generation: 1, complete: false });
        expect(world.outbox.writes).toBe(1);
        expect(world.log.request).toMatchObject({ state: 'incomplete', finalizedRevision: 1 });
        expect(world.log.lastReceipt).toBe(1);
        survived += 1;
      }
      expect(survived).toBe(11);
    },
  );
});
