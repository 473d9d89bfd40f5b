import type { Command } from 'commander';
import { hashPassword } from '../../common/password-hash.ts';
import { type AdministratorsDocument, administratorsDocument } from '../../contract/secrets.ts';
import { NotFoundError } from '../../errors.ts';
import { printable } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import { readDocument } from '../secrets/document.ts';
import type { EditableSecret } from '../stores/json-secret.ts';
import { checkUsername, newPassword, type PasswordOptions, withPasswordOptions } from './password.ts';
import { type CommandContext, openSession } from './session.ts';

const columns = [{ title: 'USER' }, { title: 'ROLES' }] as const;

/** `admin add|remove <name>` and `admin list`: who may call administrative endpoints. */
export function registerAdmin(program: Command, context: CommandContext): void {
  const admin = program
    .command('admin')
    .description('users of the administrative endpoints (POST /export)')
    .addHelpText('after', '\nExample:\n  data-out-ops admin add helen --generate');

  withPasswordOptions(admin.command('add'))
    .description('add a user')
    .argument('<name>', 'user name')
    .option('--role <role...>', 'roles; POST /export asks for ADMIN', ['ADMIN'])
    .option('--replace', 'give a known user another password and other roles')
    .addHelpText('after', '\nExample:\n  data-out-ops admin add helen --generate')
    .action(
      async (name: string, options: PasswordOptions & { role: string[]; replace?: boolean }, command: Command) => {
        const session = openSession(context, command);
        const username = checkUsername(name);
        const { administrators } = await session.target();
        const replace = options.replace === true;
        refuseKnown(await readAdministrators(administrators), username, replace);
        const { password, generated } = await newPassword(options, session.terminal);
        await addAdministrator(administrators, { username, password, roles: options.role, replace });
        session.output.result(
          { username, roles: options.role, ...(generated && { password }) },
          `user ${username} with ${options.role.join(', ')}${generated ? `, password ${password}` : ''}`,
        );
        session.output.note('note: functions read the secret again within a minute');
      },
    );

  admin
    .command('list')
    .description('list all users and their roles')
    .addHelpText('after', '\nExample:\n  data-out-ops admin list')
    .action(async (_options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { administrators } = await session.target();
      const { users } = await readAdministrators(administrators);
      // Without their password hashes.
      const listed = users.map(({ username, roles }) => ({ username, roles }));
      if (listed.length === 0) session.output.note('note: there is no user yet');
      else session.output.table(columns, listed, ({ username, roles }) => [username, roles.join(', ')].map(printable));
    });

  admin
    .command('remove')
    .description('remove a user')
    .argument('<name>', 'user name')
    .addHelpText('after', '\nExample:\n  data-out-ops admin remove helen')
    .action(async (name: string, _options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { administrators } = await session.target();
      const { users } = await readAdministrators(administrators);
      const left = users.filter((user) => user.username !== name);
      if (left.length === users.length)
        throw new NotFoundError(`there is no user ${name}: data-out-ops admin list shows those that are there`);
      await administrators.write({ users: left });
      session.output.result({ username: name, removed: true }, `user ${name} is refused, within a minute`);
    });
}

/** Add a user to the administrators' secret. @throws OpsError `conflict` for a known one, unless `replace` */
async function addAdministrator(
  secret: EditableSecret,
  user: { readonly username: string; readonly password: string; readonly roles: string[]; readonly replace?: boolean },
): Promise<void> {
  const stored = await readAdministrators(secret);
  refuseKnown(stored, user.username, user.replace === true);
  const others = stored.users.filter((each) => each.username !== user.username);
  const added = { username: user.username, password: await hashPassword(user.password), roles: user.roles };
  await secret.write({ users: [...others, added] });
}

/** The document of the administrators' secret. @throws OpsError `unusable_input` */
export function readAdministrators(secret: EditableSecret): Promise<AdministratorsDocument> {
  const about = { name: "the administrators' secret", form: '{"users":[...]}', empty: { users: [] } };
  return readDocument(secret, administratorsDocument, about);
}

function refuseKnown({ users }: AdministratorsDocument, username: string, replace: boolean): void {
  if (!replace && users.some((user) => user.username === username)) {
    throw new OpsError('conflict', `there is a user ${username}; --replace gives another password and roles`);
  }
}
