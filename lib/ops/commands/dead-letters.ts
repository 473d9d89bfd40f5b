import { type CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { DataOutError } from '../../errors.ts';
import { UsageError } from '../../terminal/errors.ts';
import { type Columns, counted, formatDuration, formatFacts, type Output } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import type { DeadLetter, DeadLetterQueue } from '../stores/dead-letter-queue.ts';
import { deadLetterQueueNames, type Target } from '../target.ts';
import { parseRequestId, parseUuid } from './arguments.ts';
import { type LetterFilter, type QueueSearch, replay, restOf, search } from './dead-letter-search.ts';
import { expectConsent, type Open, type Session, showRows } from './session.ts';

type ShownLetter = DeadLetter & { readonly ageSeconds: number; readonly lastFailure: string | null };

const columns: Columns<ShownLetter> = [
  ['QUEUE', ({ queue }) => queue],
  ['MESSAGE', ({ messageId }) => messageId],
  ['AGE', ({ ageSeconds }) => formatDuration(ageSeconds * 1000), 'right'],
  ['RECEIVES', ({ receives }) => String(receives), 'right'],
  ['REQUEST', ({ requestId }) => requestId ?? 'unreadable'],
  ['DATASET', ({ datasetId }) => datasetId],
  ['FILE', ({ fileId }) => fileId],
  ['LAST FAILURE', ({ lastFailure }) => lastFailure],
];

const listed = 'in the table of dead-letters list';
/** Most messages that `replay` shows before it asks. */
const mostShown = 20;
const none = 'note: no dead letter was found';
/** Stands for the request of a message that names none. */
const unknownRequest = '00000000-0000-0000-0000-000000000000';

const listHelp = `
Visas are never shown. Inspecting messages hides them from other readers, for two minutes at most. RECEIVES counts every
reader, including this command. LAST FAILURE comes from the database; the log of the function has more.

Examples:
  data-out-ops dead-letters list
  data-out-ops --aws dead-letters list --queue file-exports --json`;

const replayHelp = `
Each message goes back unchanged to the queue in which it failed; sending one twice is harmless. Fix the cause first.

Examples:
  data-out-ops dead-letters replay --queue file-exports
  data-out-ops dead-letters replay --request a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e
  data-out-ops dead-letters replay --message 3f8c1a52-92a0-4b53-9d5c-0c6d0ac6a1f1 --yes`;

/** `dead-letters list|show|replay`: messages that failed for good. */
export function registerDeadLetters(program: Command, open: Open): void {
  const deadLetters = program
    .command('dead-letters')
    .description('messages that failed for good')
    .addHelpText('after', '\nExample:\n  data-out-ops dead-letters list');

  deadLetters
    .command('list')
    .description('list them, each queue oldest first')
    .addOption(queueOption())
    .option('--request <id>', 'of one request: requestId of POST /export')
    .addHelpText('after', listHelp)
    .action(async ({ queue, request }, command) => {
      const session = open(command);
      const filter = filterOf({ request });
      const target = await session.target();
      const passes = await searchAll(queuesOf(target, queue), filter, session);
      await showRows(session.output, columns, await shown(passes, target, session), none);
      for (const pass of passes) warnOfRest(pass, session.output);
    });

  deadLetters
    .command('show')
    .description('one message')
    .argument('<message-id>', 'as list shows it')
    .addOption(queueOption())
    .addHelpText('after', '\nExample:\n  data-out-ops dead-letters show 3f8c1a52-92a0-4b53-9d5c-0c6d0ac6a1f1')
    .action(async (id, { queue }, command) => {
      const session = open(command);
      const messageId = parseUuid('<message-id>', id, listed);
      const target = await session.target();
      const passes = await searchAll(queuesOf(target, queue), { messageId }, session);
      const [letter] = await shown(passes, target, session);
      if (!letter) throw notFound(passes, `message ${messageId}`);
      const facts = columns.map(([title, cell]) => [title, cell(letter)] as const);
      session.output.result(letter, formatFacts([...facts, ['SENT', letter.sentAt]], 14));
    });

  deadLetters
    .command('replay')
    .description('send them back to their queue')
    .addOption(queueOption())
    .option('--request <id>', 'messages of one request')
    .option('--message <id>', 'one message, as list shows it')
    .option('--yes', 'do not ask')
    .addHelpText('after', replayHelp)
    .action(async ({ queue, request, message, yes }, command) => {
      const session = open(command);
      const filter = filterOf({ request, message });
      if (queue === undefined && Object.keys(filter).length === 0) {
        throw new UsageError('expected one of --queue, --request and --message');
      }
      const target = await session.target();
      const queues = queuesOf(target, queue);
      if (!yes && !(await isAgreed(queues, filter, target, session))) return;
      // The replayed messages reopen requests, and the sweep looks for open requests only while this marker exists.
      await target.outbox.markOpen();
      await replayAll(queues, filter, session);
    });
}

function queueOption() {
  return new Option('--queue <name>', 'one queue').choices(deadLetterQueueNames);
}

/** @throws UsageError */
function filterOf({
  request,
  message,
}: { readonly [Name in 'request' | 'message']?: string | undefined }): LetterFilter {
  return {
    ...(request !== undefined && { requestId: parseRequestId(request) }),
    ...(message !== undefined && { messageId: parseUuid('--message', message, listed) }),
  };
}

function queuesOf({ deadLetters }: Target, queue: string | undefined): readonly DeadLetterQueue[] {
  return deadLetters.filter(({ name }) => queue === undefined || name === queue);
}

function searchAll(queues: readonly DeadLetterQueue[], filter: LetterFilter, { terminal }: Session) {
  return Promise.all(queues.map((queue) => search(queue, filter, terminal)));
}

/** Letters as they are shown; without their failures while the database does not answer. */
async function shown(passes: readonly QueueSearch[], { failures }: Target, { output, terminal }: Session) {
  const letters = passes.flatMap((pass) => pass.letters);
  // A message of `deliveries` names a request that did not fail itself.
  const known = letters.filter(({ queue }) => queue !== 'deliveries');
  const works = known.map(({ queue, requestId, fileId }) => ({
    requestId: requestId ?? unknownRequest,
    ...(queue !== 'export-requests' && fileId !== null && { fileId }),
  }));
  const reasons = await failures.of(works).catch(() => {
    output.warn('the database did not answer, so the failures are not shown');
    return [];
  });
  const reasonOf = new Map(known.map(({ messageId }, index) => [messageId, reasons[index]]));
  return letters.map(
    (letter): ShownLetter => ({
      ...letter,
      ageSeconds: Math.max(0, Math.round((terminal.now().getTime() - Date.parse(letter.sentAt)) / 1000)),
      lastFailure: reasonOf.get(letter.messageId) ?? null,
    }),
  );
}

/** Whether there is something to replay, and the person at the terminal agrees. */
async function isAgreed(
  queues: readonly DeadLetterQueue[],
  filter: LetterFilter,
  target: Target,
  session: Session,
): Promise<boolean> {
  const { output, terminal } = session;
  const passes = await searchAll(queues, filter, session);
  const letters = await shown(passes, target, session);
  if (letters.length === 0) {
    if (Object.keys(filter).length > 0) throw notFound(passes, 'dead letter');
    output.note(none);
    return false;
  }
  if (!output.json) output.table(columns, letters.slice(0, mostShown));
  const more = letters.length - mostShown;
  if (more > 0) output.note(`and ${more} more: data-out-ops dead-letters list shows all`);
  for (const pass of passes) warnOfRest(pass, output);
  const todo = `replay ${messages(letters.length)}`;
  await expectConsent(terminal, { todo, word: 'replay', otherwise: 'nothing was replayed' }, false);
  return true;
}

/** @throws OpsError when messages may be left */
async function replayAll(queues: readonly DeadLetterQueue[], filter: LetterFilter, session: Session): Promise<void> {
  const { output, terminal } = session;
  const done: DeadLetter[] = [];
  const passes: QueueSearch[] = [];
  const onReplay = (letter: DeadLetter) => {
    done.push(letter);
    if (output.json) output.result(letter, '');
  };
  try {
    for (const queue of queues) {
      passes.push(await replay(queue, filter, terminal, onReplay));
    }
  } finally {
    if (done.length > 0) output.note(`replayed ${messages(done.length)}`);
  }
  const back = passes.reduce((sum, pass) => sum + pass.back, 0);
  if (back > 0) {
    throw new OpsError('partial', `${messages(back)} failed again at once: fix the cause, then replay again`);
  }
  const rest = restOf(passes);
  if (rest !== '') {
    throw new OpsError('partial', `messages might be left in ${rest}: repeat the command in two minutes`);
  }
  if (done.length > 0) return;
  if (Object.keys(filter).length > 0) throw notFound(passes, 'dead letter');
  output.note(none);
}

function notFound(passes: readonly QueueSearch[], what: string): DataOutError {
  const hidden = passes.some(({ isWhole }) => !isWhole)
    ? '; another reader holds some messages: repeat the command in two minutes'
    : ': data-out-ops dead-letters list shows the messages';
  return new DataOutError('not_found', `there is no such ${what}${hidden}`);
}

function warnOfRest({ queue, seen, count, isWhole }: QueueSearch, output: Output): void {
  if (isWhole) return;
  output.warn(
    `${queue}: met ${seen} of about ${count} messages; another reader holds the others, or there are too many for one pass`,
  );
}

function messages(count: number): string {
  return counted(count, 'message');
}
