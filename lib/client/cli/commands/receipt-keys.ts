import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import type { Columns } from '../../../terminal/output.ts';
import { collect, withConnectionOptions } from '../options.ts';
import { changedPins, changePins, checkFingerprint, pinnedKeys } from '../receipt-keys.ts';
import { type CommandContext, openSession } from '../session.ts';

const afterHelp = `
The first command that reads a receipt of a service pins the keys that the service publishes. From then on, the client accepts a
receipt only if a pinned key has signed it. A new key is pinned when a pinned one has endorsed it, as after a rotation by the
operator. Accept any other key only after the operator has confirmed its fingerprint through another channel. The fingerprint is
the SHA-256 thumbprint of the key (RFC 7638), as data-out doctor shows it.

--refuse removes one key for good, but not the keys that it endorsed earlier. When the operator reports an abused key, ask for
the fingerprints of all genuine keys, and refuse every other key that this command lists. When no trusted key is left, no
receipt is accepted until you accept the operator's new key.

Examples:
  data-out receipt-keys
  data-out receipt-keys --accept oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U
  data-out receipt-keys --refuse OLD --accept NEW`;

const columns: Columns<{ readonly fingerprint: string; readonly state: string }> = [
  ['FINGERPRINT', ({ fingerprint }) => fingerprint],
  ['STATE', ({ state }) => state],
];

/** `receipt-keys`: shows and changes which receipt keys are trusted. */
export function registerReceiptKeys(program: Command, context: CommandContext): void {
  withConnectionOptions(
    program
      .command('receipt-keys')
      .description('show or change which receipt keys are trusted')
      .option('--accept <fingerprint>', 'trust this key; repeatable', collect)
      .option('--refuse <fingerprint>', 'never trust this key; repeatable', collect)
      .option('--url <url>', 'address of the service (DATA_OUT_URL)'),
  )
    .addHelpText('after', afterHelp)
    .action(async ({ accept = [], refuse = [] }, command) => {
      await using session = await openSession(context, command);
      for (const text of accept) checkFingerprint('--accept', text);
      for (const text of refuse) checkFingerprint('--refuse', text);
      const isChange = accept.length + refuse.length > 0;
      const { trusted, refused } = isChange
        ? await changePins(session, (pins) => changedPins(pins, { accept, refuse }))
        : await pinnedKeys(session);
      const rows = [
        ...trusted.map((fingerprint) => ({ fingerprint, state: 'trusted' })),
        ...refused.map((fingerprint) => ({ fingerprint, state: 'refused' })),
      ];
      session.output.table(columns, rows);
    });
}
