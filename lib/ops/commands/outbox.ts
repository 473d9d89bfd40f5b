import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { isReceiptName } from '../../contract/delivery.ts';
import { type ContainerFilter, recordedContainers } from '../../service/export/withdraw/containers.ts';
import {
  type FoundContainer,
  lookUp,
  type OutboxContainer,
  remove,
  removeUnrecorded,
  unrecordedContainers,
} from '../../service/export/withdraw/remove.ts';
import { UsageError } from '../../terminal/errors.ts';
import { type Columns, counted, formatBytes } from '../../terminal/output.ts';
import { optionGroup } from '../../terminal/program.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';
import { parseRequestId, parseSubject, subjectHelp } from './arguments.ts';
import { examples, expectConsent, type Open, showRows } from './session.ts';

/** What the outbox has of a person, a dataset or a request. */
interface Found {
  /** One for each row. Rows of several requests may name one object. */
  readonly staged: readonly FoundContainer[];
  /** Short-lived containers of the direct API, for a dataset; what no row of a person names, for a person. */
  readonly unrecorded: readonly OutboxContainer[];
}

const columns: Columns<ReturnType<typeof recordOf>> = [
  ['KEY', ({ key }) => key],
  ['DATASET', ({ datasetId }) => datasetId],
  ['FILE', ({ fileId }) => fileId],
  ['REQUEST', ({ requestId }) => requestId],
  ['SIZE', ({ bytes }) => formatBytes(bytes), 'right'],
  ['SINCE', ({ lastModified }) => lastModified],
];

/** Containers whose removal is recorded at once. */
const chunk = 100;
const nothing = 'note: the outbox has no such container';

const withFilter = optionGroup((command) =>
  command
    .option('--subject <iss,sub>', subjectHelp)
    .option('--dataset <id>', 'of one dataset, including short-lived ones of the direct API')
    .option('--request <id>', 'of one request: requestId of POST /export'),
);

/** `outbox list|purge`: what the outbox has of a person, a dataset or a request. */
export function registerOutbox(program: Command, open: Open): void {
  const outbox = program.command('outbox').description('containers that recipients can download');

  withFilter(outbox.command('list'))
    .description('list containers in the outbox')
    .addHelpText('after', examples('outbox list --dataset EGAD00000000001'))
    .action(async (options, command) => {
      const { target, output } = open(command);
      const filter = filterOf(options);
      const objects = objectsOf(await find(filter, await target()));
      await showRows(output, columns, objects.map(recordOf), nothing);
    });

  withFilter(outbox.command('purge'))
    .description('delete containers from the outbox; the audit trail has a row for each')
    .option('--yes', 'do not ask')
    .option('--force', 'with --subject: even while open requests can stage more')
    .addHelpText('after', examples('outbox purge --subject https://issuer.example.org/,jane'))
    .action(async ({ yes, force, ...options }, command) => {
      const { output, terminal, target: connect } = open(command);
      const filter = filterOf(options);
      const target = await connect();
      if ('recipient' in filter && !force) {
        const instead = '; or delete the present containers with --force';
        await expectNoneStaging(target.erasure, filter.recipient, 'nothing was deleted', instead);
      }
      const found = await find(filter, target);
      const objects = objectsOf(found);
      if (objects.length === 0) {
        output.note(nothing);
        return;
      }
      if (!output.json) output.table(columns, objects.map(recordOf));
      const todo = `delete ${describe(objects)} for good`;
      await expectConsent(terminal, { todo, word: 'purge', otherwise: 'nothing was deleted' }, yes);
      const removed = await purge(found, target);
      const gone = objects.filter(({ key }) => removed.has(key));
      if (output.json) for (const one of gone) output.result(recordOf(one), '');
      else output.result({}, `purged ${describe(gone)}`);
      const kept = objects.length - gone.length;
      if (kept === 0) return;
      const message = `${kept} of ${objects.length} containers have changed and might still exist: repeat the command`;
      throw new OpsError('partial', message);
    });
}

/** @throws UsageError */
function filterOf({
  subject,
  dataset,
  request,
}: { readonly [Name in 'subject' | 'dataset' | 'request']?: string }): ContainerFilter {
  if ([subject, dataset, request].filter((value) => value !== undefined).length !== 1) {
    throw new UsageError('expected one of --subject, --dataset and --request');
  }
  if (subject !== undefined) return { recipient: parseSubject(subject) };
  if (dataset !== undefined) return { datasetId: dataset };
  return { requestId: parseRequestId(String(request)) };
}

/**
 * @param done what has not happened: `nothing was deleted`
 * @param instead what else can be done about it
 * @returns how many requests of the person only await their receipt
 * @throws OpsError `conflict` while others could stage more containers for the person
 */
export async function expectNoneStaging(erasure: Target['erasure'], recipient: string, done: string, instead = '') {
  const { staging, settling } = await erasure.unsettled(recipient);
  if (staging === 0) return settling;
  const open = `${counted(staging, 'open request')} of this person can still stage containers; ${done}`;
  const remedy = 'Deny the visa unless it is denied, and repeat the command when they are settled, in some minutes';
  throw new OpsError('conflict', `${open}. ${remedy}${instead}`);
}

async function find(filter: ContainerFilter, { outbox, removal: { db, expiryDays } }: Target): Promise<Found> {
  const staged: FoundContainer[] = [];
  for await (const page of recordedContainers(db, expiryDays, filter)) {
    staged.push(...(await lookUp(page, filter, outbox)).filter(({ it }) => it));
  }
  const recorded = new Set(staged.map(({ key }) => key));
  const others =
    'datasetId' in filter
      ? unrecordedContainers(outbox.directKeys(), ({ facts }) => facts.datasetId === filter.datasetId, outbox)
      : 'recipient' in filter
        ? unrecordedContainers(
            outbox.keysOf(filter.recipient),
            ({ key }) => !isReceiptName(key) && !recorded.has(key),
            outbox,
          )
        : [];
  return { staged, unrecorded: (await Array.fromAsync(others)).flat() };
}

/** Each object once, in the order of the keys. */
function objectsOf({ staged, unrecorded }: Found): readonly OutboxContainer[] {
  const all = [...staged.flatMap(({ it }) => it ?? []), ...unrecorded];
  const byKey = new Map(all.map((container): [string, OutboxContainer] => [container.key, container]));
  return [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** @returns the keys of what was deleted */
async function purge({ staged, unrecorded }: Found, { removal }: Target): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  for (let from = 0; from < staged.length; from += chunk) {
    for (const key of await remove(staged.slice(from, from + chunk), 'purged', removal)) removed.add(key);
  }
  for (let from = 0; from < unrecorded.length; from += chunk) {
    const gone = await removeUnrecorded(unrecorded.slice(from, from + chunk), 'purged', removal);
    for (const { key } of gone) removed.add(key);
  }
  return removed;
}

function describe(objects: readonly OutboxContainer[]): string {
  const bytes = objects.reduce((sum, one) => sum + one.bytes, 0);
  return `${counted(objects.length, 'container')} (${formatBytes(bytes)})`;
}

function recordOf({ key, facts, bytes, lastModified }: OutboxContainer) {
  const { datasetId, fileId, requestId, keyFingerprint } = facts;
  return { key, datasetId, fileId, requestId, keyFingerprint, bytes, lastModified: lastModified.toISOString() };
}
