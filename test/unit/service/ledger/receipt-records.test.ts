import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReceiptRecords } from '../../../../lib/service/export/ledger-port.ts';
import { receiptRecords } from '../../../../lib/service/ledger/ledger.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { wholeLedger } from '../../../helpers/whole-ledger.ts';

const older = '00000000-0000-4000-8000-000000000001';
const own = '00000000-0000-4000-8000-000000000002';
const newer = '00000000-0000-4000-8000-000000000003';
const recipient = 'ab'.repeat(32);
const keyOf = (fileId: string) => `${recipient}/${fileId}-x.c4gh`;

let test: TestDatabase;
let log: ReceiptRecords;
beforeAll(async () => {
  test = await TestDatabase.shared();
  log = receiptRecords(test.dataApi());
  await test.sql(
    `insert into sda.files (stable_id, submission_file_path, decrypted_file_size) values
       ('EGAF1', 'a/ä.bam', 9007199254740991), ('EGAF2', 'b', null), ('EGAF3', 'c', 3)`,
  );
  await test.sql(
    `insert into sda.checksums (file_id, checksum, type, source)
     select f.id, c.checksum, cast(c.type as sda.checksum_algorithm), cast(c.source as sda.checksum_source)
     from sda.files f join (values
       ('EGAF1', repeat('AB', 32), 'SHA256', 'UNENCRYPTED'), ('EGAF2', repeat('CD', 32), 'SHA256', 'ARCHIVED'),
       ('EGAF2', repeat('EF', 16), 'MD5', 'UNENCRYPTED'), ('EGAF3', 'no digest', 'SHA256', 'UNENCRYPTED')
     ) c (file_id, checksum, type, source) on c.file_id = f.stable_id`,
  );
});
beforeEach(() => test.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log'));
afterAll(() => test[Symbol.asyncDispose]());

interface Row {
  readonly state?: string;
  readonly reason?: string;
  readonly supersededBy?: string;
  readonly size?: number;
}

async function addRequest(
  requestId: string,
  requestedAt: string,
  { fingerprint = 'k1', columns = {} }: { fingerprint?: string; columns?: Record<string, string> } = {},
): Promise<void> {
  const values: Record<string, string> = {
    request_id: requestId,
    requested_at: requestedAt,
    archive_kind: 'fega',
    kind: 'dataset',
    dataset_id: 'EGAD1',
    recipient,
    key_fingerprint: fingerprint,
    state: 'accepted',
    sealed_at: 'now()',
    ...columns,
  };
  const texts = Object.values(values).map((value) => (value === 'null' ? value : `'${value}'`));
  await test.sql(`insert into data_out.requests (${Object.keys(values).join()}) values (${texts.join()})`);
}

async function addFile(requestId: string, fileId: string, row: Row = {}): Promise<void> {
  const { state = 'staged', reason, supersededBy, size = 100 } = row;
  const text = (value: string | undefined) => (value === undefined ? 'null' : `'${value}'`);
  const container = state === 'staged' ? `${size}, 'crc of ${size}', 'digest of ${size}'` : 'null, null, null';
  await test.sql(
    `insert into data_out.request_files
       (request_id, file_id, state, reason, superseded_by, outbox_key, bytes, crc64nvme, header_sha256)
     values ('${requestId}', '${fileId}', '${state}', ${text(reason)}, ${text(supersededBy)}, '${keyOf(fileId)}', ${container})`,
  );
}

async function filesOf(requestId: string) {
  const files = [];
  for await (const page of log.files(requestId)) files.push(...page);
  return files;
}

describe('a request', () => {
  it('is found with the facts of its receipt', async () => {
    await addRequest(own, '2026-11-21T09:00:00.123456Z', {
      columns: { generation: '3', settled_generation: '2', receipt_generation: '1' },
    });
    await addFile(own, 'EGAF1');
    expect(await log.find(own)).toEqual({
      requestId: own,
      requestedAt: '2026-11-21T09:00:00.123Z',
      kind: 'dataset',
      datasetId: 'EGAD1',
      fileId: undefined,
      recipient,
      keyFingerprint: 'k1',
      state: 'accepted',
      receiptRevision: 3,
      finalizedRevision: 2,
      isOpen: false,
    });
  });

  it('of one file has its id', async () => {
    await addRequest(own, '2026-11-21T09:00:00Z', { columns: { kind: 'file', file_id: 'EGAF1' } });
    await addFile(own, 'EGAF1');
    expect(await log.find(own)).toMatchObject({ kind: 'file', fileId: 'EGAF1', datasetId: 'EGAD1' });
  });

  it.each(['pending', 'retrying'])('is open while a file is %s', async (state) => {
    await addRequest(own, '2026-11-21T09:00:00Z');
    await addFile(own, 'EGAF1');
    await addFile(own, 'EGAF2', { state });
    expect(await log.find(own)).toMatchObject({ isOpen: true });
  });

  it.each([
    ['rejected', { state: 'rejected', kind: 'null', dataset_id: 'null', recipient: 'null' }],
    ['not sealed', { sealed_at: 'null' }],
  ])('that is %s is not found', async (_, columns) => {
    await addRequest(own, '2026-11-21T09:00:00Z', { columns });
    await addFile(own, 'EGAF1');
    expect(await log.find(own)).toBeUndefined();
  });

  it('without files, or that is unknown, is not found', async () => {
    await addRequest(own, '2026-11-21T09:00:00Z');
    expect([await log.find(own), await log.find(newer)]).toEqual([undefined, undefined]);
  });
});

describe('a file', () => {
  beforeEach(() => addRequest(own, '2026-11-21T09:00:00Z'));

  it('has what the catalogue and the log say of it, a checksum only of the plaintext and in hex', async () => {
    await addFile(own, 'EGAF1', { size: 9007199254740991 });
    await addFile(own, 'EGAF2', { state: 'rejected', reason: 'not_released' });
    await addFile(own, 'EGAF3', { state: 'given_up' });
    await addFile(own, 'EGAF4', { state: 'withdrawn' });
    const none = {
      reason: undefined,
      plaintextSize: undefined,
      plaintextSha256: undefined,
      newest: undefined,
      supersededBy: undefined,
    };
    expect(await filesOf(own)).toEqual([
      {
        ...none,
        fileId: 'EGAF1',
        state: 'staged',
        path: 'a/ä.bam',
        plaintextSize: 9007199254740991,
        plaintextSha256: 'ab'.repeat(32),
        newest: {
          requestId: own,
          keyFingerprint: 'k1',
          outboxKey: keyOf('EGAF1'),
          size: 9007199254740991,
          crc64nvme: 'crc of 9007199254740991',
          headerSha256: 'digest of 9007199254740991',
        },
      },
      { ...none, fileId: 'EGAF2', state: 'rejected', reason: 'not_released', path: 'b' },
      { ...none, fileId: 'EGAF3', state: 'given_up', path: 'c', plaintextSize: 3 },
      // The catalogue no longer has it.
      { ...none, fileId: 'EGAF4', state: 'withdrawn', path: '' },
    ]);
  });

  it('shows the container of the newest request, which may be of another key', async () => {
    await addRequest(older, '2026-11-21T08:00:00Z', { fingerprint: 'k0' });
    await addRequest(newer, '2026-11-21T10:00:00Z', { fingerprint: 'k2' });
    for (const [requestId, size] of [
      [older, 1],
      [own, 2],
      [newer, 3],
    ] as const)
      await addFile(requestId, 'EGAF1', { size });
    const newestOf = async (requestId: string) => (await filesOf(requestId))[0]?.newest;
    for (const requestId of [older, own, newer]) {
      expect(await newestOf(requestId)).toMatchObject({ requestId: newer, keyFingerprint: 'k2', size: 3 });
    }
  });

  it('of two requests of one moment shows the one with the greater id', async () => {
    await addRequest(newer, '2026-11-21T09:00:00Z');
    for (const requestId of [own, newer]) await addFile(requestId, 'EGAF1');
    expect((await filesOf(own))[0]?.newest?.requestId).toBe(newer);
    expect((await filesOf(newer))[0]?.newest?.requestId).toBe(newer);
  });

  it('that is superseded shows no older container, and what happened to the one in its way', async () => {
    await addRequest(older, '2026-11-21T08:00:00Z');
    await addFile(older, 'EGAF1');
    await addFile(own, 'EGAF1', { state: 'superseded', supersededBy: newer });
    expect(await filesOf(own)).toMatchObject([
      { newest: undefined, supersededBy: { requestId: newer, state: undefined } },
    ]);
    await addRequest(newer, '2026-11-21T10:00:00Z');
    await addFile(newer, 'EGAF1', { state: 'pending' });
    expect(await filesOf(own)).toMatchObject([
      { newest: undefined, supersededBy: { requestId: newer, state: 'pending' } },
    ]);
    await test.sql(`delete from data_out.request_files where request_id = '${newer}'`);
    await addFile(newer, 'EGAF1');
    expect(await filesOf(own)).toMatchObject([{ newest: { requestId: newer }, supersededBy: { state: 'staged' } }]);
  });

  it('comes in the order of the ids, page after page', async () => {
    await test.sql(
      `insert into data_out.request_files (request_id, file_id, state)
       select '${own}', 'EGAG' || to_char(n, 'FM00000'), 'given_up' from generate_series(1, 1001) n`,
    );
    const pages = [];
    for await (const page of log.files(own)) pages.push(page.map(({ fileId }) => fileId));
    expect(pages.map(({ length }) => length)).toEqual([1000, 1]);
    expect(pages.flat()).toEqual([...pages.flat()].sort());
    expect(new Set(pages.flat()).size).toBe(1001);
  });

  it('takes one statement where one page has all', async () => {
    await addFile(own, 'EGAF1');
    const api = test.dataApi();
    const query = vi.spyOn(api, 'query');
    for await (const page of receiptRecords(api).files(own)) expect(page).toHaveLength(1);
    expect(query).toHaveBeenCalledOnce();
  });

  it('comes in smaller pages where long paths fill a result of the Data API', async () => {
    await test.sql(
      `insert into sda.files (stable_id, submission_file_path, header)
       select 'EGAH' || to_char(n, 'FM00000'), repeat('x', 4096), '00' from generate_series(1, 300) n`,
    );
    await test.sql(
      `insert into data_out.request_files (request_id, file_id, state)
       select '${own}', 'EGAH' || to_char(n, 'FM00000'), 'given_up' from generate_series(1, 300) n`,
    );
    const pages = [];
    for await (const page of log.files(own)) pages.push(page.map(({ fileId }) => fileId));
    expect(pages.length).toBeGreaterThan(2);
    expect(new Set(pages.flat()).size).toBe(300);
    await test.sql("delete from sda.files where stable_id like 'EGAH%'");
  });

  it('that is staged finds its container by the index of the outbox', async () => {
    await addFile(own, 'EGAF1');
    await filesOf(own);
    const [, sql] = /"sql":"(.*?)","/.exec(test.bodies.at(-1) ?? '') ?? [];
    const statement = String(JSON.parse(`"${sql}"`))
      .replaceAll(':request_id', `'${own}'`)
      .replaceAll(':after', "''");
    await test.sql('set enable_seqscan = off');
    const plan = (await test.sql(`explain ${statement}`)).flat().join('\n');
    await test.sql('reset enable_seqscan');
    expect(plan).toContain('request_files_in_outbox');
  });
});

describe('settling', () => {
  const settlement = { state: 'incomplete', staged: 2, stagedBytes: 9007199254740991 } as const;
  const columns = `select state, staged, staged_bytes, settled_generation, receipt_generation, settled_at is not null
    from data_out.requests`;
  const audit =
    'select request_id, event, reason, archive_kind, dataset_id, recipient, key_fingerprint, bytes from data_out.export_log';
  beforeEach(async () => {
    await addRequest(own, '2026-11-21T09:00:00Z');
    await addFile(own, 'EGAF1');
  });

  it('records the state with one audit row, however often it is repeated', async () => {
    expect(await log.finalize({ requestId: own, receiptRevision: 1 }, settlement)).toBe(true);
    expect(await log.finalize({ requestId: own, receiptRevision: 1 }, settlement)).toBe(true);
    expect(await test.sql(columns)).toEqual([['incomplete', '2', '9007199254740991', '0', '0', 't']]);
    expect(await test.sql(audit)).toEqual([
      [own, 'settled', 'incomplete', 'fega', 'EGAD1', recipient, 'k1', '9007199254740991'],
    ]);
  });

  it('is refused for an older generation, and while a file is open', async () => {
    expect(await log.finalize({ requestId: own, receiptRevision: 2 }, settlement)).toBe(false);
    await addFile(own, 'EGAF2', { state: 'retrying' });
    expect(await log.finalize({ requestId: own, receiptRevision: 1 }, settlement)).toBe(false);
    expect(await test.sql(columns)).toEqual([['accepted', null, null, '0', '0', 'f']]);
    expect(await test.sql(audit)).toEqual([]);
  });

  it('closes a generation with its receipt, and no older one after it', async () => {
    for (const receiptRevision of [2, 1]) await log.close({ requestId: own, receiptRevision }, true);
    expect((await test.sql(columns))[0]?.slice(3, 5)).toEqual(['2', '2']);
  });

  it('closes a generation without a receipt', async () => {
    await log.close({ requestId: own, receiptRevision: 1 }, false);
    expect((await test.sql(columns))[0]?.slice(3, 5)).toEqual(['1', '0']);
  });

  it('that has not come to the receipt is sent again by the sweep', async () => {
    const future = new Date(Date.now() + 60_000);
    await log.finalize({ requestId: own, receiptRevision: 1 }, settlement);
    expect(await wholeLedger(test.dataApi(), 10).unclosed(future)).toEqual([own]);
    await log.close({ requestId: own, receiptRevision: 1 }, true);
    expect(await wholeLedger(test.dataApi(), 10).unclosed(future)).toEqual([]);
  });
});
