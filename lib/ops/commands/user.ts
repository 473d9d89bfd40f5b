import type { Command } from 'commander';
import { hashPassword } from '../../common/password-hash.ts';
import { NotFoundError } from '../../errors.ts';
import { printable } from '../../terminal/output.ts';
import type { ListedUser } from '../catalogue/archive-users.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';
import { checkUsername, newPassword, type PasswordOptions, withPasswordOptions } from './password.ts';
import { type CommandContext, openSession, showRows } from './session.ts';

const columns = [{ title: 'USER' }, { title: 'STATE' }, { title: 'SINCE' }] as const;

/** `user add|disable <name>` and `user list`: the central archive's credentials, which list and stream ask for. */
export function registerUser(program: Command, context: CommandContext): void {
  const user = program
    .command('user')
    .description("the central archive's users, who may list and stream")
    .addHelpText('after', '\nExample:\n  data-out-ops user add jane --generate');

  withPasswordOptions(user.command('add'))
    .description('add a user, or enable a disabled one')
    .argument('<name>', 'user name')
    .option('--replace', 'give a known user another password')
    .addHelpText('after', '\nExample:\n  data-out-ops user add jane --generate')
    .action(async (name: string, options: PasswordOptions & { replace?: boolean }, command: Command) => {
      const session = openSession(context, command);
      const username = checkUsername(name);
      const target = await session.target();
      await refuseKnown(target, username, options.replace === true);
      const { password, generated } = await newPassword(options, session.terminal);
      await addArchiveUser(target, { username, password, replace: options.replace === true });
      session.output.result(
        { username, ...(generated && { password }) },
        generated ? `user ${username}, password ${password}` : `user ${username} may list and stream`,
      );
    });

  user
    .command('list')
    .description('list all users')
    .addHelpText('after', '\nExample:\n  data-out-ops user list')
    .action(async (_options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { archiveUsers } = await session.target();
      const none = 'note: there is no user yet';
      await showRows(session.output, columns, archiveUsers.list(), { cells: cellsOf, none });
    });

  user
    .command('disable')
    .description("refuse a user's credentials from now on")
    .argument('<name>', 'user name')
    .addHelpText('after', '\nExample:\n  data-out-ops user disable jane')
    .action(async (name: string, _options: unknown, command: Command) => {
      const session = openSession(context, command);
      const username = checkUsername(name);
      const { archiveUsers } = await session.target();
      if (!(await archiveUsers.find(username)))
        throw new NotFoundError(
          `there is no active user ${username}: data-out-ops user list shows those that are there`,
        );
      await archiveUsers.disable(username);
      session.output.result({ username, disabled: true }, `user ${username} is refused, within a minute`);
    });
}

function cellsOf({ username, createdAt, disabledAt }: ListedUser): string[] {
  return [printable(username), disabledAt === undefined ? 'active' : 'disabled', disabledAt ?? createdAt];
}

/** Add a user of the central archive. @throws OpsError `conflict` for a known one, unless `replace` */
export async function addArchiveUser(
  target: Pick<Target, 'archiveUsers'>,
  user: { readonly username: string; readonly password: string; readonly replace?: boolean },
): Promise<void> {
  await refuseKnown(target, user.username, user.replace === true);
  await target.archiveUsers.save(user.username, await hashPassword(user.password));
}

async function refuseKnown({ archiveUsers }: Pick<Target, 'archiveUsers'>, username: string, replace: boolean) {
  if (!replace && (await archiveUsers.find(username))) {
    throw new OpsError('conflict', `there is a user ${username}; --replace gives another password`);
  }
}
