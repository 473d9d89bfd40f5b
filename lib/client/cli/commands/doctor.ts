import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examine, quickRetries } from '../examine.ts';
import { withKeyOptions, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const afterHelp = `
Each line has a verdict, the check and its finding; the line below says what to do. Visas are decoded, not verified, because
only the service knows which issuers it trusts. The exit code is that of the first failed check, or 0. data-out inspect says
which key opens a file.

Examples:
  data-out doctor
  data-out doctor --key me.sec.pem --key old.sec.pem`;

/** `doctor`: checks the settings, the service and the keys, and says what to do about each failure. */
export function registerDoctor(program: Command, context: CommandContext): void {
  const doctor = program.command('doctor').description('check the settings, the service and your keys');
  withServiceOptions(withKeyOptions(doctor))
    .addHelpText('after', afterHelp)
    .action(async (_options, command) => {
      await using session = await openSession(context, command, quickRetries);
      const error = await examine(session);
      if (error) throw error;
    });
}
