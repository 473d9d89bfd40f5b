import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exportCatalogue } from '../../../../lib/service/catalogue/export-catalogue.ts';
import type { AcceptedRequest, FileEnd } from '../../../../lib/service/export/ledger-port.ts';
import { noteAttempts } from '../../../../lib/service/ledger/ledger.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { brokenConnection } from '../../../helpers/http-handler.ts';
import { type WholeLedger, wholeLedger } from '../../../helpers/whole-ledger.ts';

const requestId = '6f2c3d1e-0000-4000-8000-000000000001';
const newer = '6f2c3d1e-0000-4000-8000-000000000002';
const request: AcceptedRequest = {
  requestId,
  requestedAt: new Date('2026-11-21T09:59:00.123Z'),
  archiveKind: 'fega',
  datasetId: 'EGAD1',
  recipient: 'ab',
  keyFingerprint: 'cd',
};
/** Most files in flight. */
const inFlight = 2;

let test: TestDatabase;
let requests: WholeLedger;
let files: WholeLedger;
let sweep: WholeLedger;
beforeAll(async () => {
  test = await TestDatabase.shared();
  await test.sql("insert into sda.datasets (id, stable_id) values (1, 'EGAD1')");
  await test.sql(`insert into sda.files (id, stable_id, archive_file_path, archive_file_size, header)
    select cast('00000000-0000-4000-8000-00000000000' || n as uuid), 'F' || n, 'body', 1, '00' from generate_series(1, 5) n`);
  await test.sql('insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files');
  requests = wholeLedger(test.dataApi(), inFlight);
  files = wholeLedger(test.dataApi(), inFlight);
  sweep = wholeLedger(test.dataApi(), 10);
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(() => test.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log'));

/** The position of a fan-out that has sent so many files. */
const sent = (files: number) => ({ sentTo: `00000000-0000-4000-8000-00000000000${files}`, files });
const lostAnswer = () => test.faults.push({ action: 'ExecuteStatement', error: brokenConnection(), carriedOut: true });
const states = async (id = requestId) =>
  (
    await test.sql(`select file_id || ' ' || state from data_out.request_files where request_id = '${id}' order by 1`)
  ).flat();
const row = async (columns: string, id = requestId) =>
  (await test.sql(`select ${columns} from data_out.requests where request_id = '${id}'`))[0];
const events = async () =>
  (await test.sql("select event || ' ' || coalesce(file_id, '-') from data_out.export_log order by id")).flat();

/** The find query of a batch, which notes the attempts. */
const attempt = (fileIds: readonly string[], { isFirst = true, isLast = false } = {}) =>
  exportCatalogue(test.dataApi(), noteAttempts).findReleasedFiles(
    fileIds.map((fileId) => ({ requestId, datasetId: 'EGAD1', fileId, isFirst, isLast })),
  );
const end = (fileId: string, state: FileEnd['state'] = 'staged', more: Partial<FileEnd> = {}): FileEnd => ({
  requestId,
  fileId,
  state,
  ...more,
});
const event = (fileId: string) => ({ requestId, fileId, event: 'staged' }) as const;
const record = (...ends: readonly FileEnd[]) => files.record(ends, []);

/** A request whose fan-out has ended, with these files open and tried. */
async function sealed(fileIds: readonly string[]): Promise<void> {
  await requests.accept(request, fileIds, { count: 1, isLast: false });
  await requests.completeFanOut(requestId, { sentTo: fileIds.at(-1) ?? '', files: fileIds.length });
  await attempt(fileIds);
}
/** As the receipt does it. */
const close = () =>
  test.sql("update data_out.requests set state = 'incomplete', settled_generation = generation, settled_at = now()");

describe('a request', () => {
  it('is recorded with its audit row and its first files, however often', async () => {
    expect(await requests.begin(requestId, { count: 1, isLast: false })).toBeUndefined();
    lostAnswer();
    await requests.accept(request, ['F1', 'F2'], { count: 1, isLast: false });
    await requests.accept(request, ['F1', 'F2'], { count: 1, isLast: false });
    expect(
      await row(
        "state, kind, dataset_id, file_id, recipient, key_fingerprint, generation, to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')",
      ),
    ).toEqual(['accepted', 'dataset', 'EGAD1', null, 'ab', 'cd', '1', '2026-11-21 09:59:00.123']);
    expect(await states()).toEqual(['F1 pending', 'F2 pending']);
    expect(await events()).toEqual(['accepted -']);
  });

  it('continues behind what is sent, and never goes back', async () => {
    await requests.accept(request, ['F1'], { count: 1, isLast: false });
    await requests.addFiles(requestId, { sentTo: 'F1', files: 1 }, ['F2'], { count: 1, isLast: false });
    await requests.addFiles(requestId, { sentTo: 'F2', files: 2 }, ['F3'], { count: 1, isLast: false });
    await requests.addFiles(requestId, { sentTo: 'F1', files: 1 }, ['F2'], { count: 1, isLast: false });
    const known = {
      state: 'accepted',
      sentTo: 'F2',
      files: 2,
      isFannedOut: false,
      datasetId: 'EGAD1',
      cameFurtherAt: 0,
    };
    expect(await requests.begin(requestId, { count: 1, isLast: false })).toEqual(known);
    await requests.completeFanOut(requestId, { sentTo: 'F3', files: 3 });
    expect(await requests.begin(requestId, { count: 1, isLast: false })).toEqual({
      ...known,
      sentTo: 'F3',
      files: 3,
      isFannedOut: true,
    });
    expect(await states()).toEqual(['F1 pending', 'F2 pending', 'F3 pending']);
  });

  it('counts the receives that brought it no further, and the fifth in a row is its last try', async () => {
    const receive = async (count: number) => {
      const known = await requests.begin(requestId, { count, isLast: false });
      return [known?.cameFurtherAt, (await row('is_last_try'))?.[0]];
    };
    await requests.accept(request, ['F1'], { count: 1, isLast: false });
    expect(await receive(2)).toEqual([0, 'f']);
    await requests.addFiles(requestId, sent(1), ['F2'], { count: 2, isLast: false });
    // What is repeated brings it no further.
    await requests.addFiles(requestId, sent(1), ['F2'], { count: 3, isLast: false });
    for (const count of [4, 5, 6]) expect(await receive(count)).toEqual([2, 'f']);
    lostAnswer();
    expect(await receive(7)).toEqual([2, 't']);
    // From the dead letters.
    expect(await receive(1)).toEqual([0, 'f']);
  });

  it('that is rejected is final, and keeps what is known of it', async () => {
    const { requestedAt } = request;
    for (const _ of [1, 2]) await requests.reject({ requestId, requestedAt }, 'malformed_message');
    await requests.reject({ requestId: newer, requestedAt, fileId: 'F1' }, 'not_entitled');
    expect(await row('state, reason, kind, sealed_at is not null, settled_generation')).toEqual([
      'rejected',
      'malformed_message',
      null,
      't',
      '1',
    ]);
    expect(await row('reason, kind, file_id', newer)).toEqual(['not_entitled', 'file', 'F1']);
    expect(await events()).toEqual(['rejected -', 'rejected F1']);
    expect(await files.finalizable([requestId, newer])).toEqual([]);
  });

  it('that is rejected after it was accepted keeps its state: files of it may be staged', async () => {
    await requests.accept(request, ['F1'], { count: 1, isLast: false });
    await requests.reject(request, 'not_released');
    expect(await row('state, reason')).toEqual(['accepted', null]);
  });

  it('whose fan-out is given up gives up what was not sent, and a replay opens it again', async () => {
    await requests.accept(request, ['F1', 'F2'], { count: 1, isLast: true });
    await requests.addFiles(requestId, sent(2), ['F3'], { count: 1, isLast: false });
    await attempt(['F1', 'F2']);
    await record(end('F1'), end('F2'));
    for (const _ of [1, 2]) await requests.fail(request, 'temporarily_unavailable');
    const closing = () => requests.closeUnsent(requestId, sent(2), { state: 'given_up', reason: 'not_sent' });
    // A page that is not full is the last one.
    expect(await closing()).toBe(false);
    expect(await row('sent_to, files, closed_to, closed')).toEqual([sent(2).sentTo, '2', sent(5).sentTo, '3']);
    expect(await closing()).toBe(false);
    expect(await row('closed_to, closed')).toEqual([sent(5).sentTo, '3']);
    expect(await requests.completeFanOut(requestId, sent(2))).toBe(true);
    expect(await row('state, reason, is_last_try')).toEqual(['failed', 'temporarily_unavailable', 'f']);
    expect(await states()).toEqual(['F1 staged', 'F2 staged', 'F3 given_up', 'F4 given_up', 'F5 given_up']);
    expect(await events()).toEqual(['accepted -', 'failed -']);
    expect(await files.finalizable([requestId])).toEqual([requestId]);
    await close();
    await test.sql("update data_out.requests set state = 'failed'");

    expect(await requests.begin(requestId, { count: 1, isLast: false })).toMatchObject({
      state: 'failed',
      ...sent(2),
      isFannedOut: true,
    });
    await requests.accept(request, ['F3', 'F4', 'F5'], { count: 1, isLast: false });
    expect(await row('closed_to, closed')).toEqual([null, '0']);
    expect(await row('state, reason, generation, sealed_at')).toEqual(['accepted', null, '2', null]);
    expect(await states()).toEqual(['F1 staged', 'F2 staged', 'F3 pending', 'F4 pending', 'F5 pending']);
  });

  it('that failed before it was accepted is final', async () => {
    await requests.fail({ requestId, requestedAt: request.requestedAt }, 'internal_error');
    expect(await row('state, settled_generation')).toEqual(['failed', '1']);
    expect(await files.finalizable([requestId])).toEqual([]);
    expect(await sweep.unclosed(new Date('2100-01-01'))).toEqual([]);
  });

  it('for one file gives up that file alone', async () => {
    await requests.accept({ ...request, fileId: 'F2' }, [], { count: 1, isLast: false });
    const closing = () =>
      requests.closeUnsent(requestId, { sentTo: '', files: 0 }, { state: 'rejected', reason: 'not_released' });
    expect([await closing(), await closing()]).toEqual([false, false]);
    expect(await states()).toEqual(['F2 rejected']);
  });
});

describe('a file', () => {
  it('is settled with all that the receipt says of it, and its audit row, by one statement', async () => {
    await sealed(['F1', 'F2', 'F3', 'F4']);
    const container = {
      outboxKey: 'ab/F1.c4gh',
      bytes: 9007199254740991,
      crc64nvme: 'AAAAAAAAAAA=',
      headerSha256: 'ef',
    };
    test.actions.length = 0;
    lostAnswer();
    await files.record(
      [
        end('F1', 'staged', container),
        end('F2', 'superseded', { supersededBy: newer }),
        end('F3', 'rejected', { reason: 'visa_denied' }),
        end('F4', 'retrying', { reason: 'temporarily_unavailable' }),
      ],
      [event('F1')],
    );
    expect(test.actions).toEqual(['ExecuteStatement', 'ExecuteStatement']);
    const columns = 'file_id, state, reason, superseded_by, outbox_key, bytes, crc64nvme, header_sha256';
    expect(await test.sql(`select ${columns} from data_out.request_files order by 1`)).toEqual([
      ['F1', 'staged', null, null, 'ab/F1.c4gh', '9007199254740991', 'AAAAAAAAAAA=', 'ef'],
      ['F2', 'superseded', null, newer, null, null, null, null],
      ['F3', 'rejected', 'visa_denied', null, null, null, null, null],
      ['F4', 'retrying', 'temporarily_unavailable', null, null, null, null, null],
    ]);
    expect(await events()).toEqual(['accepted -', 'staged F1']);
  });

  it.each(['staged', 'superseded', 'withdrawn', 'rejected', 'given_up'] as const)(
    'that is %s is not turned back by a late delivery',
    async (state) => {
      await sealed(['F1']);
      await test.sql(`update data_out.request_files set state = '${state}'`);
      await attempt(['F1'], { isFirst: false });
      for (const late of ['retrying', 'given_up', 'rejected', 'superseded'] as const) await record(end('F1', late));
      expect(await states()).toEqual([`F1 ${state}`]);
      await record(end('F1'));
      expect(await states()).toEqual([state === 'given_up' ? 'F1 staged' : `F1 ${state}`]);
      expect(await row('generation')).toEqual([state === 'given_up' ? '2' : '1']);
    },
  );

  it('that was given up is open again when its message comes from the dead letters, in one more generation', async () => {
    await sealed(['F1', 'F2']);
    await record(end('F1', 'given_up', { reason: 'archive_damaged' }), end('F2', 'given_up'));
    await close();
    await attempt(['F1']);
    await attempt(['F2']);
    expect(await states()).toEqual(['F1 pending', 'F2 pending']);
    expect(await row('generation, settled_generation')).toEqual(['2', '1']);
    expect(await files.finalizable([requestId])).toEqual([]);
    expect(await record(end('F1'), end('F2'))).toEqual([requestId]);
    expect(await files.finalizable([requestId])).toEqual([requestId]);
  });

  it('that was open when its request was closed all the same leads to one more generation', async () => {
    await sealed(['F1', 'F2']);
    await record(end('F2'));
    await close();
    await record(end('F1', 'retrying'));
    expect(await row('generation')).toEqual(['2']);
    await record(end('F1'));
    expect(await row('generation')).toEqual(['2']);
    expect(await files.finalizable([requestId])).toEqual([requestId]);
  });

  it('of a request from before these tables leaves no row but that of the audit', async () => {
    await attempt(['F1']);
    expect(await files.record([end('F1')], [event('F1')])).toEqual([]);
    expect(await states()).toEqual([]);
    expect(await events()).toEqual(['staged F1']);
  });

  it('whose row is refused leaves no audit row', async () => {
    await sealed(['F1']);
    await expect(files.record([end('F1', 'staged', { bytes: 2 ** 70 })], [event('F1')])).rejects.toThrow(
      'out of range',
    );
    expect(await states()).toEqual(['F1 pending']);
    expect(await events()).toEqual(['accepted -']);
  });
});

describe('a request is settled', () => {
  it('once it is sealed and no file is open', async () => {
    await requests.accept(request, ['F1', 'F2'], { count: 1, isLast: false });
    await attempt(['F1', 'F2']);
    await record(end('F1'), end('F2'));
    expect(await files.finalizable([requestId])).toEqual([]);
    expect(await requests.completeFanOut(requestId, { sentTo: 'F2', files: 2 })).toBe(true);
    expect(await files.finalizable([requestId])).toEqual([requestId]);
    await close();
    expect(await files.finalizable([requestId])).toEqual([]);
  });

  it('by none of two batches that both ask before the other has committed, and then by both', async () => {
    await sealed(['F1', 'F2']);
    expect(await record(end('F1'))).toEqual([requestId]);
    expect(await files.finalizable([requestId])).toEqual([]);
    expect(await record(end('F2'))).toEqual([requestId]);
    expect(await files.finalizable([requestId])).toEqual([requestId]);
    expect(await files.finalizable([requestId])).toEqual([requestId]);
  });

  it('by another delivery while more files are open than can be in flight', async () => {
    await sealed(['F1', 'F2', 'F3', 'F4']);
    expect(await record(end('F1'))).toEqual([]);
    expect(await record(end('F2'))).toEqual([requestId]);
  });

  it('by another delivery while a file is open that no delivery has tried', async () => {
    await requests.accept(request, ['F1', 'F2'], { count: 1, isLast: false });
    expect(await requests.completeFanOut(requestId, { sentTo: 'F2', files: 2 })).toBe(false);
    await attempt(['F1']);
    expect(await record(end('F1'))).toEqual([]);
    await attempt(['F2']);
    expect(await record(end('F2'))).toEqual([requestId]);
  });

  it('not by a delivery that only failed', async () => {
    await sealed(['F1']);
    expect(await record(end('F1', 'retrying'))).toEqual([]);
  });
});

describe('the sweep', () => {
  const now = Date.now();
  const past = new Date(now - 60_000);
  const future = new Date(now + 60_000);

  it('gives up files whose last attempt recorded no end, and no other', async () => {
    await sealed(['F1', 'F2', 'F3']);
    await attempt(['F1', 'F2'], { isFirst: false, isLast: true });
    await record(end('F2'));
    expect(await sweep.giveUpSilent(past)).toBe(0);
    expect(await sweep.giveUpSilent(future)).toBe(1);
    expect(await sweep.giveUpSilent(future)).toBe(0);
    expect(await states()).toEqual(['F1 given_up', 'F2 staged', 'F3 pending']);
    expect(
      await test.sql("select file_id, reason, dataset_id, recipient from data_out.export_log where event = 'given_up'"),
    ).toEqual([['F1', 'no_answer', 'EGAD1', 'ab']]);
  });

  it('gives up files of which nothing has changed for longer than SQS keeps a message', async () => {
    await sealed(['F1', 'F2']);
    await record(end('F2'));
    expect(await sweep.giveUpExpired(past)).toBe(0);
    expect(await sweep.giveUpExpired(future)).toBe(1);
    expect(await test.sql("select file_id, reason from data_out.request_files where state = 'given_up'")).toEqual([
      ['F1', 'expired'],
    ]);
  });

  it('finds fan-outs that failed, whose last attempt recorded no end, or that are lost', async () => {
    await requests.accept(request, ['F1'], { count: 1, isLast: false });
    const found = async (tried: Date, expired: Date) => (await sweep.brokenFanOuts(tried, expired)).length;
    expect(await found(future, past)).toBe(0);
    expect(await found(past, future)).toBe(1);
    await requests.begin(requestId, { count: 1, isLast: true });
    expect(await found(past, past)).toBe(0);
    expect(await sweep.brokenFanOuts(future, past)).toEqual([{ request, progress: { sentTo: '', files: 0 } }]);
    await requests.fail(request, 'internal_error');
    expect(await sweep.brokenFanOuts(past, past)).toEqual([
      { request, progress: { sentTo: '', files: 0 }, reason: 'internal_error' },
    ]);
    await requests.completeFanOut(requestId, { sentTo: '', files: 0 });
    expect(await found(future, future)).toBe(0);
  });

  it('finds settled requests that are not closed, once until they are quiet again', async () => {
    await sealed(['F1']);
    expect(await sweep.unclosed(future)).toEqual([]);
    await record(end('F1'));
    expect(await sweep.unclosed(past)).toEqual([]);
    const quiet = new Date(Date.now() - 5 * 60_000);
    const age = (changed: number, sent: string) =>
      test.sql(`update data_out.requests set updated_at = now() - interval '${changed} minutes', tried_at = ${sent}`);
    await age(6, 'null');
    expect(await sweep.unclosed(quiet)).toEqual([requestId]);
    expect(await sweep.unclosed(quiet)).toEqual([]);
    // It was sent 20 minutes after its last change. It is sent again after 40.
    await age(39, "now() - interval '19 minutes'");
    expect(await sweep.unclosed(quiet)).toEqual([]);
    await age(41, "now() - interval '21 minutes'");
    expect(await sweep.unclosed(quiet)).toEqual([requestId]);
    await close();
    expect(await sweep.unclosed(future)).toEqual([]);
  });
});
