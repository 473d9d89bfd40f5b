import type { Command } from 'commander';
import { collect, withConnectionOptions } from '../options.ts';
import { addressOf, checkedFingerprint, PinFile } from '../receipt-keys.ts';
import { type CommandContext, openSession } from '../session.ts';

interface ReceiptKeysOptions {
  readonly accept?: readonly string[];
  readonly refuse?: readonly string[];
}

const afterHelp = `
The first command that reads a receipt of a service pins the keys that the service publishes. From then on a receipt counts only
if a pinned key has signed it. A new key of the service is pinned when a pinned one has endorsed it, as after a rotation by the
operator. Accept any other only after the operator has confirmed its fingerprint on another way. The fingerprint is the SHA-256
thumbprint of the key (RFC 7638), as data-out doctor shows it.

Examples:
  data-out receipt-keys
  data-out receipt-keys --accept oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U`;

const columns = [{ title: 'FINGERPRINT' }, { title: 'STATE' }] as const;

/** `receipt-keys`: shows and changes which keys of delivery receipts count. */
export function registerReceiptKeys(program: Command, context: CommandContext): void {
  const command = program
    .command('receipt-keys')
    .description('show and change which keys of delivery receipts count')
    .option('--accept <fingerprint>', 'rely on this key; may be given several times', collect)
    .option('--refuse <fingerprint>', 'never rely on this key; may be given several times', collect)
    .option('--url <url>', 'address of the service (DATA_OUT_URL)');
  withConnectionOptions(command)
    .addHelpText('after', afterHelp)
    .action(async ({ accept = [], refuse = [] }: ReceiptKeysOptions, self: Command) => {
      await using session = await openSession(context, self);
      const service = addressOf(session);
      const file = new PinFile(session);
      let { trusted, refused } = (await file.of(service)) ?? { trusted: [], refused: [] };
      const accepted = accept.map((text) => checkedFingerprint('--accept', text));
      const dropped = refuse.map((text) => checkedFingerprint('--refuse', text));
      trusted = [...new Set([...trusted, ...accepted])].filter((each) => !dropped.includes(each));
      refused = [...new Set([...refused, ...dropped])].filter(
        (each) => !accepted.includes(each) || dropped.includes(each),
      );
      if (accepted.length + dropped.length > 0) await file.set(service, { trusted, refused });
      const rows = [
        ...trusted.map((fingerprint) => ({ fingerprint, state: 'trusted' })),
        ...refused.map((fingerprint) => ({ fingerprint, state: 'refused' })),
      ];
      session.output.table(columns, rows, ({ fingerprint, state }) => [fingerprint, state]);
    });
}
