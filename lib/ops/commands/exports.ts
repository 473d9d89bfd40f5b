import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { explainReason } from '../../contract/reasons.ts';
import { DataOutError } from '../../errors.ts';
import { type RetryRefusal, retryGivenUp } from '../../service/export/retry.ts';
import { counted } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import { parseRequestId } from './arguments.ts';
import type { Open } from './session.ts';

const retryHelp = `
First mend the cause, which data-out-ops audit --request ID shows. The files are staged as if they had just been requested, so
the visa must still last, the dataset must be released, and the outbox must have room for them. Run the command again to send
what a failure left unsent.

Examples:
  data-out-ops exports retry a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e
  data-out-ops exports retry a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e --file EGAF00000000001`;

/** `exports retry`: files that were given up are staged again. */
export function registerExports(program: Command, open: Open): void {
  program
    .command('exports')
    .description('export requests whose files were given up')
    .command('retry')
    .description('stage the given-up files of a request again')
    .argument('<request>', 'requestId of POST /export')
    .option('--file <id>', 'this file only')
    .addHelpText('after', retryHelp)
    .action(async (request, { file }, command) => {
      const { target: connect, output } = open(command);
      const requestId = parseRequestId(request, '<request>');
      const { retrying } = await connect();
      const outcome = await retryGivenUp(requestId, file, retrying);
      if ('refused' in outcome) throw refusal(outcome.refused, requestId);
      const { reopened, sent } = outcome;
      output.result({ requestId, ...outcome }, `${counted(sent, 'file')} of ${requestId} will be staged again`);
      if (reopened + sent === 0) output.note('note: no such file was given up');
    });
}

const ownReasons: Readonly<Partial<Record<RetryRefusal, string>>> = {
  rejected: 'it was rejected, so it has no files. Export again',
  erased: 'the recipient was erased',
};

function refusal(reason: RetryRefusal, requestId: string): Error {
  if (reason === 'unknown_request')
    return new DataOutError('not_found', `there is no request ${requestId}: data-out-ops audit shows the requests`);
  const why = ownReasons[reason] ?? explainReason(reason)?.meaning ?? reason;
  return new OpsError('conflict', `the files of ${requestId} cannot be staged again: ${why}`);
}
