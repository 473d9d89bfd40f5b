import { randomUUID } from 'node:crypto';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { isReceiptName } from '../../contract/delivery.ts';
import { counted } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';
import { parseSubject, subjectHelp } from './arguments.ts';
import { expectNoneStaging } from './outbox.ts';
import { expectConsent, type Open } from './session.ts';

const afterHelp = `
The audit trail still shows what happened to each file and when, but no longer for whom. It gets a row "erased", without the
person. First revoke the person's access (visa deny, user disable) and delete the person's containers (outbox purge). Logs and
backups expire as listed in docs/operations.md#retention-and-erasure.

Example:
  data-out-ops erase --subject https://issuer.example.org/,jane`;

/** `erase`: takes one person out of the audit trail, of the tables of requests and of the outbox. */
export function registerErase(program: Command, open: Open): void {
  program
    .command('erase')
    .description('remove a person from the audit trail, and delete their receipts')
    .requiredOption('--subject <iss,sub>', subjectHelp)
    .option('--yes', 'do not ask')
    .addHelpText('after', afterHelp)
    .action(async ({ subject, yes }, command) => {
      const { target: connect, output, terminal } = open(command);
      const recipient = parseSubject(subject);
      const target = await connect();
      await expectOnlyReceipts(target, recipient);
      const question = { todo: `erase ${recipient} for good`, word: 'erase', otherwise: 'nothing was erased' };
      await expectConsent(terminal, question, yes);
      // A request may have been accepted while the person read the question.
      const receipts = await expectOnlyReceipts(target, recipient);
      for (const key of receipts) {
        terminal.signal.throwIfAborted();
        const head = await target.outbox.head(key);
        if (head) await target.outbox.remove(key, head.etag);
      }
      const erasureId = randomUUID();
      const rows = await target.erasure.erase(recipient, erasureId);
      const said = `${recipient} is erased: ${counted(rows, 'row')} changed and ${counted(receipts.length, 'receipt')} deleted (${erasureId})`;
      output.result({ erasureId, recipient, rows, receipts: receipts.length }, said);
      output.note('note: logs and backups expire as listed in docs/operations.md#retention-and-erasure');
      if (rows + receipts.length === 0) {
        output.warn('nothing names this person: check the issuer and the subject, unless the person was erased before');
      }
    });
}

/**
 * Keys of the person's delivery receipts.
 * @throws OpsError `conflict` while the person has containers in the outbox, or requests that are not settled
 */
async function expectOnlyReceipts({ outbox, erasure }: Target, recipient: string): Promise<readonly string[]> {
  const settling = await expectNoneStaging(erasure, recipient, 'nothing was erased');
  const keys = (await Array.fromAsync(outbox.keysOf(recipient))).flat();
  const containers = keys.filter((key) => !isReceiptName(key)).length;
  if (containers > 0) {
    const found = `the outbox has ${counted(containers, 'container')} of this person`;
    throw new OpsError('conflict', `${found}: run data-out-ops outbox purge first`);
  }
  if (settling === 0) return keys;
  const open = `the receipts of ${counted(settling, 'request')} of this person, as after each purge`;
  const remedy =
    'Repeat the command in a few minutes; if it still says so after an hour, see DeliveryOverdue in docs/runbook.md';
  throw new OpsError('conflict', `the service is still writing ${open}; nothing was erased. ${remedy}`);
}
