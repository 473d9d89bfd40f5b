import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { hashPassword } from '../../common/password-hash.ts';
import { DataOutError } from '../../errors.ts';
import type { Columns } from '../../terminal/output.ts';
import type { ListedUser } from '../catalogue/archive-users.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';
import { checkUsername, newPassword, withPasswordOptions } from './password.ts';
import { type Open, showRows } from './session.ts';

const columns: Columns<ListedUser> = [
  ['USER', ({ username }) => username],
  ['STATE', ({ disabledAt }) => (disabledAt === undefined ? 'active' : 'disabled')],
  ['SINCE', ({ createdAt, disabledAt }) => disabledAt ?? createdAt],
];

/** `user add|disable <name>` and `user list`: the central archive's credentials, which list and stream ask for. */
export function registerUser(program: Command, open: Open): void {
  const user = program
    .command('user')
    .description("the central archive's users, who may list and stream")
    .addHelpText('after', '\nExample:\n  data-out-ops user add jane --generate');

  withPasswordOptions(user.command('add'))
    .description('add a user, or enable a disabled one')
    .argument('<name>', 'user name')
    .option('--replace', "change an existing user's password")
    .addHelpText('after', '\nExample:\n  data-out-ops user add jane --generate')
    .action(async (name, { replace, ...options }, command) => {
      const { target, terminal, output } = open(command);
      const username = checkUsername(name);
      const opened = await target();
      // A known user is refused before a person types a password.
      if (!replace) await refuseKnown(opened, username);
      const { password, generated } = await newPassword(options, terminal);
      await addArchiveUser(opened, { username, password, replace });
      output.result(
        { username, ...(generated && { password }) },
        generated ? `user ${username}, password ${password}` : `user ${username} may list and stream`,
      );
    });

  user
    .command('list')
    .description('list all users')
    .addHelpText('after', '\nExample:\n  data-out-ops user list')
    .action(async (_options, command) => {
      const { target, output } = open(command);
      await showRows(output, columns, (await target()).archiveUsers.list(), 'note: there are no users yet');
    });

  user
    .command('disable')
    .description("refuse a user's credentials")
    .argument('<name>', 'user name')
    .addHelpText('after', '\nExample:\n  data-out-ops user disable jane')
    .action(async (name, _options, command) => {
      const { target, output } = open(command);
      const username = checkUsername(name);
      const { archiveUsers } = await target();
      if (!(await archiveUsers.find(username)))
        throw new DataOutError(
          'not_found',
          `there is no active user ${username}: data-out-ops user list shows the users`,
        );
      await archiveUsers.disable(username);
      output.result({ username, disabled: true }, `user ${username} is refused, within a minute`);
    });
}

/** Add a user of the central archive. @throws OpsError `conflict` for a known one, unless `replace` */
export async function addArchiveUser(
  target: Pick<Target, 'archiveUsers'>,
  { username, password, replace }: { username: string; password: string; replace?: boolean | undefined },
): Promise<void> {
  if (!replace) await refuseKnown(target, username);
  await target.archiveUsers.save(username, await hashPassword(password));
}

async function refuseKnown({ archiveUsers }: Pick<Target, 'archiveUsers'>, username: string): Promise<void> {
  if (!(await archiveUsers.find(username))) return;
  throw new OpsError('conflict', `there is a user ${username}; --replace gives another password`);
}
