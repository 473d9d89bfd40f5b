import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import type {
  EndedContainer,
  FileEnd,
  OutboxRecords,
  ReceiptRecords,
  RequestEnd,
  Unsent,
} from '../../lib/service/export/ledger-port.ts';
import type { ExportCatalogue } from '../../lib/service/export/ports.ts';
import { noteAttempts, outboxRecords, receiptRecords } from '../../lib/service/ledger/ledger.ts';
import {
  type FileEvent,
  fileTransitions,
  type Phase,
  phases,
  type RequestEvent,
  requestTransitions,
} from '../../lib/service/ledger/transitions.ts';
import { TestDatabase } from '../helpers/data-api.ts';
import { type WholeLedger, wholeLedger } from '../helpers/whole-ledger.ts';

const requestIds = ['6f2c3d1e-0000-4000-8000-000000000001', '6f2c3d1e-0000-4000-8000-000000000002'] as const;
const fileIds = ['F1', 'F2'] as const;
/** The position of a fan-out that has sent so many files. */
const positions = ['', '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const;
const receive = { count: 1, isLast: false };

let database: TestDatabase;
let ledger: WholeLedger;
let log: ReceiptRecords;
let records: OutboxRecords;
let catalogue: ExportCatalogue;
beforeAll(async () => {
  database = await TestDatabase.shared();
  await database.sql("insert into sda.datasets (id, stable_id) values (1, 'EGAD1')");
  await database.sql(`insert into sda.files (id, stable_id, archive_file_path, archive_file_size, header)
    select cast('00000000-0000-4000-8000-00000000000' || n as uuid), 'F' || n, 'body', 1, '00' from generate_series(1, 2) n`);
  await database.sql('insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files');
  ledger = wholeLedger(database.dataApi(), 10);
  log = receiptRecords(database.dataApi());
  records = outboxRecords(database.dataApi(), 30);
  catalogue = exportCatalogue(database.dataApi(), noteAttempts);
});
afterAll(() => database[Symbol.asyncDispose]());

interface ModelRequest {
  phase: Phase;
  state: string;
  revision: number;
  closedRevision: number;
  sentTo: string;
  closedTo: string;
}
interface ModelFile {
  readonly state: string;
  readonly key: string | null;
}
/** A file of one of the requests. */
interface Place {
  readonly requestId: string;
  readonly fileId: string;
}
const nameOf = ({ requestId, fileId }: Place) => `${requestId} ${fileId}`;

/** Every pair of state and event in which the tables of transitions change a row, or keep it and change its columns. */
const pairs = [requestTransitions, fileTransitions].flatMap((table) =>
  Object.entries(table).flatMap(([event, { steps }]) => Object.keys(steps).map((state) => `${event} in ${state}`)),
);

/** What the tables of transitions make of events. What a condition or a column means is said here a second time. */
class Model {
  readonly requests = new Map<string, ModelRequest>();
  readonly files = new Map<string, ModelFile>();
  /** The pairs that it met. */
  readonly met = new Set<string>();

  /** @param holds whether the condition of the event holds */
  request(requestId: string, event: RequestEvent, holds = true, state?: string): boolean {
    const { steps, add } = requestTransitions[event];
    const known = this.requests.get(requestId);
    const from = known?.phase ?? 'absent';
    const phase = steps[from];
    if (!phase || !holds) return false;
    this.met.add(`${event} in ${from}`);
    const [[only]] = phases[phase];
    const isNamed = phases[phase].length > 1;
    if (!known) {
      const closedRevision = Number(add?.settled_generation ?? 0);
      this.requests.set(requestId, { phase, state: only, revision: 1, closedRevision, sentTo: '', closedTo: '' });
    } else Object.assign(known, { phase, state: isNamed ? (state ?? known.state) : only });
    return true;
  }

  file(place: Place, event: FileEvent, key = this.files.get(nameOf(place))?.key ?? null): boolean {
    const from = this.files.get(nameOf(place))?.state ?? 'absent';
    const steps: Partial<Record<string, string>> = fileTransitions[event].steps;
    const state = steps[from];
    if (state === undefined) return false;
    this.met.add(`${event} in ${from}`);
    this.files.set(nameOf(place), { state, key });
    return true;
  }

  stateOf(place: Place): string | undefined {
    return this.files.get(nameOf(place))?.state;
  }

  hasOpenFiles(requestId: string): boolean {
    return fileIds.some((fileId) => ['pending', 'retrying'].includes(this.stateOf({ requestId, fileId }) ?? ''));
  }

  /** Carry out events of files by one statement: it sees its requests as they were before. */
  together(event: 'file_changed' | 'container_removed', changes: () => readonly string[]): void {
    const raisable = requestIds.filter((id) => {
      const request = this.requests.get(id);
      const isClosed = request !== undefined && request.closedRevision >= request.revision;
      return event === 'container_removed' || isClosed || !this.hasOpenFiles(id);
    });
    const changed = new Set(changes());
    for (const id of changed) {
      if (
        this.request(
          id,
          event,
          raisable.some((one) => one === id),
        )
      )
        this.requests.get(id)!.revision += 1;
    }
  }
}

/** An event. It may be repeated at any later time. */
interface Step {
  readonly name: string;
  /** Carries it out in the model alone. @returns what carries it out in the database */
  readonly run: (model: Model) => () => Promise<unknown>;
}

const anExport = fc.constantFrom(...requestIds);
const someFiles = fc.subarray([...fileIds], { minLength: 1 });
const places = requestIds.flatMap((requestId) => fileIds.map((fileId): Place => ({ requestId, fileId })));
const somePlaces = fc.subarray(places, { minLength: 1, maxLength: 3 });
const position = fc.constantFrom(0, 1, 2);
const keyOf = (fileId: string) => `ab/${fileId}.c4gh`;
const step = <T>(name: string, given: fc.Arbitrary<T>, run: (given: T, model: Model) => () => Promise<unknown>) =>
  given.map((one): Step => ({ name: `${name} ${JSON.stringify(one)}`, run: (model) => run(one, model) }));

const facts = { requestedAt: new Date(0), datasetId: 'EGAD1', recipient: 'ab', keyFingerprint: 'cd' };
const accepted = step('accept', fc.tuple(anExport, someFiles), ([requestId, some], model) => {
  const before = model.requests.get(requestId);
  const hadEnded = before?.phase === 'rejected' || before?.phase === 'failed';
  if (model.request(requestId, 'accepted')) {
    const request = model.requests.get(requestId)!;
    if (hadEnded) request.revision += 1;
    request.closedTo = '';
  }
  for (const fileId of some) model.file({ requestId, fileId }, 'sent');
  return () => ledger.accept({ requestId, ...facts }, some, receive);
});

function completeFanOut(model: Model, requestId: string, at: number): () => Promise<boolean> {
  const sentTo = positions[at] ?? '';
  const request = model.requests.get(requestId);
  if (model.request(requestId, 'fan_out_complete') && request && request.sentTo < sentTo) request.sentTo = sentTo;
  return () => ledger.completeFanOut(requestId, { sentTo, files: at });
}

function record(model: Model, some: readonly Place[], state: FileEnd['state']): () => Promise<readonly string[]> {
  const hasKey = state === 'staged' || state === 'superseded';
  model.together('file_changed', () =>
    some.flatMap((place) => {
      const event = state === 'retrying' ? 'failed' : state;
      return model.file(place, event, hasKey ? keyOf(place.fileId) : null) ? [place.requestId] : [];
    }),
  );
  const ends = some.map((place) => ({ ...place, state, ...(hasKey && { outboxKey: keyOf(place.fileId) }) }));
  return () => ledger.record(ends, []);
}

function finalize(model: Model, requestId: string, isOld: boolean, state: RequestEnd['state']): () => Promise<void> {
  const receiptRevision = (model.requests.get(requestId)?.revision ?? 1) - (isOld ? 1 : 0);
  const isFinalized = model.request(requestId, 'finalized', !isOld && !model.hasOpenFiles(requestId), state);
  return async () =>
    expect(await log.finalize({ requestId, receiptRevision }, { state, staged: 0, stagedBytes: 0 })).toBe(isFinalized);
}

function close(model: Model, requestId: string, isOld: boolean): () => Promise<void> {
  const request = model.requests.get(requestId);
  const receiptRevision = (request?.revision ?? 1) - (isOld ? 1 : 0);
  if (request && model.request(requestId, 'closed', request.closedRevision < receiptRevision))
    request.closedRevision = receiptRevision;
  return () => log.close({ requestId, receiptRevision }, true);
}

const ofFanOut = fc.oneof(
  step('begin', anExport, (requestId, model) => {
    model.request(requestId, 'begun');
    return () => ledger.begin(requestId, receive);
  }),
  step('add files', fc.tuple(anExport, position, someFiles), ([requestId, at, some], model) => {
    const request = model.requests.get(requestId);
    if (!request) return async () => undefined;
    const sentTo = positions[at] ?? '';
    if (model.request(requestId, 'page_sent', request.sentTo < sentTo)) request.sentTo = sentTo;
    for (const fileId of some) model.file({ requestId, fileId }, 'sent');
    return () => ledger.addFiles(requestId, { sentTo, files: at }, some, receive);
  }),
  step('complete the fan-out', fc.tuple(anExport, position), (given, model) => completeFanOut(model, ...given)),
  step('refuse', fc.tuple(anExport, fc.boolean()), ([requestId, isRejected], model) => {
    model.request(requestId, isRejected ? 'refused' : 'fan_out_failed');
    const refused = { requestId, ...facts };
    return () => (isRejected ? ledger.reject(refused, 'not_released') : ledger.fail(refused, 'internal_error'));
  }),
  step(
    'close unsent files',
    fc.tuple(anExport, position, fc.constantFrom<Unsent['state']>('rejected', 'given_up')),
    ([requestId, at, state], model) => {
      const sentTo = positions[at] ?? '';
      const request = model.requests.get(requestId);
      const after = Math.max(at, positions.indexOf((request?.closedTo ?? '') as never));
      const page = fileIds.slice(after);
      if (request && page.length > 0 && model.request(requestId, 'page_closed')) {
        for (const fileId of page) {
          model.file({ requestId, fileId }, state === 'rejected' ? 'refused_unsent' : 'given_up_unsent');
        }
        request.closedTo = positions[2];
        if (request.sentTo < sentTo) request.sentTo = sentTo;
      }
      return () => ledger.closeUnsent(requestId, { sentTo, files: at }, { state, reason: 'not_sent' });
    },
  ),
);

const ofFiles = fc.oneof(
  step('attempt', fc.tuple(somePlaces, fc.boolean()), ([some, isFirst], model) => {
    model.together('file_changed', () =>
      some.flatMap((place) => {
        const wasGivenUp = model.stateOf(place) === 'given_up';
        const isTaken = model.file(place, isFirst ? 'attempted_first' : 'attempted');
        return isTaken && wasGivenUp ? [place.requestId] : [];
      }),
    );
    const attempts = some.map((place) => ({ ...place, datasetId: 'EGAD1', isFirst, isLast: false }));
    return () => catalogue.findReleasedFiles(attempts);
  }),
  step(
    'record',
    fc.tuple(
      somePlaces,
      fc.constantFrom<FileEnd['state']>('retrying', 'retrying', 'staged', 'superseded', 'rejected', 'given_up'),
    ),
    ([some, state], model) => record(model, some, state),
  ),
  step('lose', fc.constantFrom(...places), ({ requestId, fileId }, model) => {
    model.file({ requestId, fileId }, 'lost');
    return async () => {
      await database.sql(`update data_out.request_files set is_last_try = true, tried_at = now() - interval '1 hour'
        where request_id = '${requestId}' and file_id = '${fileId}' and state in ('pending', 'retrying')`);
      await ledger.giveUpSilent(new Date(Date.now() - 60_000));
    };
  }),
  step(
    'withdraw',
    fc.tuple(somePlaces, fc.constantFrom<EndedContainer['end']>('withdrawn', 'withdrawn', 'superseded')),
    ([some, end], model) => {
      model.together('container_removed', () => {
        const given = some.map(nameOf);
        const others = places.filter((place) => {
          const key = model.files.get(nameOf(place))?.key ?? null;
          const isUnderKey = some.some(({ fileId }) => keyOf(fileId) === key);
          return end === 'withdrawn' && isUnderKey && !given.includes(nameOf(place));
        });
        const event = end === 'withdrawn' ? 'removed' : 'replaced';
        const own = some.filter((place) => model.file(place, event, keyOf(place.fileId)) && end === 'withdrawn');
        return [...own, ...others.filter((place) => model.file(place, 'key_removed'))].map(
          ({ requestId }) => requestId,
        );
      });
      const common = { datasetId: 'EGAD1', recipient: 'ab', state: 'staged', end } as const;
      const ended = some.map((place) => ({ ...place, ...common, key: keyOf(place.fileId) }));
      return () => records.recordRemoval(ended, []);
    },
  ),
);

const endings = fc.constantFrom<RequestEnd['state']>('complete', 'incomplete', 'withdrawn');
/** Of an older revision, if it is late. */
const isLate = fc.constantFrom(false, false, false, true);
const ofReceipt = fc.oneof(
  step('finalize', fc.tuple(anExport, isLate, endings), (given, model) => finalize(model, ...given)),
  step('close', fc.tuple(anExport, isLate), (given, model) => close(model, ...given)),
  step(
    'end',
    fc.tuple(anExport, fc.constantFrom<FileEnd['state']>('staged', 'superseded', 'given_up'), endings),
    ([requestId, state, ending], model) => {
      const ends = fileIds.map((fileId) => ({ requestId, fileId }));
      const calls = [
        record(model, ends, state),
        completeFanOut(model, requestId, 2),
        finalize(model, requestId, false, ending),
        close(model, requestId, false),
      ];
      return async () => {
        for (const call of calls) await call();
      };
    },
  ),
);

const one = fc.oneof(
  { weight: 2, arbitrary: accepted },
  { weight: 5, arbitrary: ofFanOut },
  { weight: 6, arbitrary: ofFiles },
  { weight: 5, arbitrary: ofReceipt },
);
/** Each event, or one that came before once more: the number counts back from the last. */
const storyOf = (length: number) =>
  fc.array(fc.tuple(one, fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(9) })), {
    minLength: 15,
    maxLength: length,
  });
type Story = ReturnType<typeof storyOf> extends fc.Arbitrary<infer T> ? T : never;

/** Carries the events of a story out in the model. @yields what carries each out in the database */
function* told(story: Story, model: Model): Generator<() => Promise<unknown>> {
  const done: Step[] = [];
  for (const [fresh, again] of story) {
    const next = (again === null ? undefined : done.at(-1 - again)) ?? fresh;
    done.push(next);
    yield next.run(model);
  }
}

/** Of many stories a few that together meet every pair, found in the model alone, which takes no time. */
function storiesOfAllPairs(): readonly Story[] {
  const stories = fc.sample(storyOf(40), { numRuns: 1000, seed: 1 }).map((story) => {
    const model = new Model();
    Array.from(told(story, model));
    return { story, met: model.met };
  });
  const chosen: Story[] = [];
  for (let left = pairs; left.length > 0; ) {
    const gain = ({ met }: (typeof stories)[number]) => left.filter((pair) => met.has(pair)).length;
    const best = stories.reduce((most, one) => (gain(one) > gain(most) ? one : most));
    if (gain(best) === 0) throw new Error(`no story meets ${left.join(', ')}`);
    chosen.push(best.story);
    left = left.filter((pair) => !best.met.has(pair));
  }
  return chosen;
}

async function expectSame({ requests, files }: Model): Promise<void> {
  const [row] = await database.sql(`select
    (select json_agg(json_build_array(request_id, state, sealed_at is null, generation, settled_generation, sent_to)
       order by request_id) from data_out.requests),
    (select json_agg(json_build_array(request_id || ' ' || file_id, state, outbox_key) order by 1)
       from (select * from data_out.request_files order by request_id, file_id) f)`);
  const isFanningOut = (phase: Phase) => phases[phase][0][1];
  expect(JSON.parse(row?.[0] ?? '[]')).toEqual(
    [...requests].map(([id, r]) => [id, r.state, isFanningOut(r.phase), r.revision, r.closedRevision, r.sentTo]).sort(),
  );
  expect(JSON.parse(row?.[1] ?? '[]')).toEqual([...files].map(([name, { state, key }]) => [name, state, key]).sort());
}

test('events of two requests in any order, repeated and late, leave what the tables of transitions say', async () => {
  expect(pairs).toHaveLength(68);
  const met = new Set<string>();
  const examples = storiesOfAllPairs().map((story): [Story] => [story]);
  await fc.assert(
    fc.asyncProperty(storyOf(25), async (story) => {
      await database.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log');
      const model = new Model();
      for (const carryOut of told(story, model)) {
        await carryOut();
        await expectSame(model);
      }
      for (const pair of model.met) met.add(pair);
    }),
    { numRuns: examples.length + 20, examples, unbiased: true, seed: 1 },
  );
  expect([...met].sort()).toEqual([...pairs].sort());
});
