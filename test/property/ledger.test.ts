import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RdsCatalogue } from '../../lib/service/catalogue/catalogue.ts';
import type { FileEnd } from '../../lib/service/export/ports.ts';
import { RdsDeliveryLog } from '../../lib/service/ledger/delivery-log.ts';
import { RdsLedger } from '../../lib/service/ledger/ledger.ts';
import {
  type FileEvent,
  fileTransitions,
  noteAttempts,
  type Phase,
  phases,
  type RequestEvent,
  requestTransitions,
} from '../../lib/service/ledger/transitions.ts';
import { TestDatabase } from '../helpers/data-api.ts';
import { runs } from '../helpers/runs.ts';

const exportId = '6f2c3d1e-0000-4000-8000-000000000001';
const fileIds = ['F1', 'F2'];
const request = { exportId, requestedAt: new Date(0), datasetId: 'EGAD1', recipient: 'ab', keyFingerprint: 'cd' };
const receive = { count: 1, isLast: false };
const ends = [
  'retrying',
  'staged',
  'superseded',
  'rejected',
  'given_up',
] as const satisfies readonly FileEnd['state'][];

let database: TestDatabase;
beforeAll(async () => {
  database = await TestDatabase.shared();
  await database.sql("insert into sda.datasets (id, stable_id) values (1, 'EGAD1')");
  await database.sql(`insert into sda.files (id, stable_id, archive_file_path, archive_file_size, header)
    select cast('00000000-0000-4000-8000-00000000000' || n as uuid), 'F' || n, 'body', 1, '00' from generate_series(1, 2) n`);
  await database.sql('insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files');
});
afterAll(() => database[Symbol.asyncDispose]());

/** What the tables of transitions make of events. */
class Model {
  phase: Phase | 'absent' = 'absent';
  readonly files = new Map<string, string>();

  request(event: RequestEvent): void {
    const steps: Partial<Record<string, Phase>> = requestTransitions[event].steps;
    this.phase = steps[this.phase] ?? this.phase;
  }

  file(fileId: string, event: FileEvent): void {
    const steps: Partial<Record<string, string>> = fileTransitions[event];
    const state = steps[this.files.get(fileId) ?? 'absent'];
    if (state !== undefined) this.files.set(fileId, state);
  }

  get hasOpenFiles(): boolean {
    return [...this.files.values()].some((state) => state === 'pending' || state === 'retrying');
  }
}

/** An event in the database and in the model; some need a request whose fan-out began. */
interface Step {
  readonly name: string;
  readonly run: (ledger: RdsLedger, model: Model) => Promise<unknown>;
}

const ofRequest: Record<string, Step['run']> = {
  begin: (ledger, model) => {
    model.request('begun');
    return ledger.begin(exportId, receive);
  },
  accept: (ledger, model) => {
    model.request('accepted');
    for (const fileId of fileIds) model.file(fileId, 'sent');
    return ledger.accept(request, fileIds, receive);
  },
  reject: (ledger, model) => {
    model.request('refused');
    return ledger.reject(request, 'not_released');
  },
  fail: (ledger, model) => {
    model.request('fan_out_failed');
    return ledger.fail(request, 'internal_error');
  },
  'end the fan-out': (ledger, model) => {
    model.request('fan_out_complete');
    return ledger.completeFanOut(exportId, { sentTo: '00000000-0000-4000-8000-000000000002', files: 2 });
  },
  'close unsent': (ledger, model) => {
    if (model.phase === 'absent') return Promise.resolve();
    for (const fileId of fileIds) model.file(fileId, 'given_up_unsent');
    return database
      .sql('update data_out.requests set closed_to = null, sent_to = $$$$')
      .then(() => ledger.closeUnsent(exportId, { sentTo: '', files: 0 }, { state: 'given_up', reason: 'not_sent' }));
  },
  'give up silent files': (ledger, model) => {
    for (const fileId of model.files.keys()) model.file(fileId, 'given_up');
    return database
      .sql("update data_out.request_files set is_last_try = true, tried_at = now() - interval '1 hour'")
      .then(() => ledger.giveUpSilent(new Date()));
  },
  finalize: async (_, model) => {
    const log = new RdsDeliveryLog(database.dataApi());
    const found = await log.find(exportId);
    if (found && !model.hasOpenFiles) model.request('finalized');
    const state = found?.state === 'failed' ? 'failed' : 'complete';
    const isFinalized = found && (await log.finalize(found, { state, staged: 0, stagedBytes: 0 }));
    if (isFinalized) await log.close(found, false);
  },
};

const ofFile = fc.oneof(
  fc.tuple(fc.constantFrom(...fileIds), fc.boolean()).map(
    ([fileId, isFirst]): Step => ({
      name: `attempt ${fileId}${isFirst ? ' first' : ''}`,
      run: (_, model) => {
        model.file(fileId, isFirst ? 'attempted_first' : 'attempted');
        const attempt = { exportId, datasetId: 'EGAD1', fileId, isFirst, isLast: false };
        return new RdsCatalogue(database.dataApi(), noteAttempts).findReleasedFiles([attempt]);
      },
    }),
  ),
  fc.tuple(fc.constantFrom(...fileIds), fc.constantFrom(...ends)).map(
    ([fileId, state]): Step => ({
      name: `${fileId} ${state}`,
      run: (ledger, model) => {
        model.file(fileId, state === 'retrying' ? 'failed' : state);
        return ledger.record([{ exportId, fileId, state }], []);
      },
    }),
  ),
);
const step = fc.oneof(
  fc.constantFrom(...Object.entries(ofRequest)).map(([name, run]): Step => ({ name, run })),
  ofFile,
);
/** Each event arrives once or twice. */
const story = fc.array(
  fc.tuple(
    step.map((one) => Object.assign(one, { toString: () => one.name })),
    fc.boolean(),
  ),
  {
    minLength: 1,
    maxLength: 14,
  },
);

test('any order of events, with some delivered twice, leaves what the tables of transitions say', async () => {
  const ledger = new RdsLedger(database.dataApi(), 10);
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      await database.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log');
      const model = new Model();
      let generation = 0;
      // An accepted request comes before most of what happens to it.
      const all = [[{ name: 'accept', run: ofRequest.accept }, false] as const, ...steps].slice(
        steps.length % 4 === 0 ? 1 : 0,
      );
      for (const [{ run }, isRepeated] of all) {
        await run?.(ledger, model);
        if (isRepeated) await run?.(ledger, model);
        const files = await database.sql('select file_id, state from data_out.request_files order by 1');
        expect(files).toEqual([...model.files].sort());
        const [row] = await database.sql(
          'select state, sealed_at is null, generation, settled_generation from data_out.requests',
        );
        const pair = row?.slice(0, 2).join();
        const phase = Object.entries(phases).find(([, pairs]) =>
          pairs.some(([state, isOpen]) => `${state},${isOpen ? 't' : 'f'}` === pair),
        );
        expect(phase?.[0] ?? 'absent').toBe(model.phase);
        expect(Number(row?.[3] ?? 0)).toBeLessThanOrEqual(Number(row?.[2] ?? 0));
        expect(Number(row?.[2] ?? 0)).toBeGreaterThanOrEqual(generation);
        generation = Number(row?.[2] ?? 0);
      }
    }),
    { numRuns: runs(60) },
  );
});
