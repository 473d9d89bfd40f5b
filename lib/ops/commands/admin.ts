import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { hashPassword } from '../../common/password-hash.ts';
import { type AdministratorsDocument, administratorsDocument } from '../../contract/secrets.ts';
import { DataOutError } from '../../errors.ts';
import type { Columns } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import { readDocument } from '../secrets/document.ts';
import type { EditableSecret } from '../stores/json-secret.ts';
import { checkUsername, newPassword, withPasswordOptions } from './password.ts';
import { type Open, showRows } from './session.ts';

const columns: Columns<{ readonly username: string; readonly roles: readonly string[] }> = [
  ['USER', ({ username }) => username],
  ['ROLES', ({ roles }) => roles.join(', ')],
];

/** `admin add|remove <name>` and `admin list`: who may call administrative endpoints. */
export function registerAdmin(program: Command, open: Open): void {
  const admin = program
    .command('admin')
    .description('users of the administrative endpoints')
    .addHelpText('after', '\nExample:\n  data-out-ops admin add helen --generate');

  withPasswordOptions(admin.command('add'))
    .description('add a user')
    .argument('<name>', 'user name')
    .option('--role <role...>', 'roles; POST /export requires ADMIN', ['ADMIN'])
    .option('--replace', "change an existing user's password and roles")
    .addHelpText('after', '\nExample:\n  data-out-ops admin add helen --generate')
    .action(async (name, { role: roles, replace, ...options }, command) => {
      const { target, terminal, output } = open(command);
      const username = checkUsername(name);
      const { administrators } = await target();
      const others = async () => {
        const { users } = await readAdministrators(administrators);
        const left = users.filter((user) => user.username !== username);
        if (replace || left.length === users.length) return left;
        throw new OpsError('conflict', `there is a user ${username}; --replace gives another password and roles`);
      };
      // A known user is refused before a person types a password.
      await others();
      const { password, generated } = await newPassword(options, terminal);
      const added = { username, password: await hashPassword(password), roles };
      await administrators.write({ users: [...(await others()), added] });
      output.result(
        { username, roles, ...(generated && { password }) },
        `user ${username} with ${roles.join(', ')}${generated ? `, password ${password}` : ''}`,
      );
      output.note('note: functions read the secret again within a minute');
    });

  admin
    .command('list')
    .description('list all users and their roles')
    .addHelpText('after', '\nExample:\n  data-out-ops admin list')
    .action(async (_options, command) => {
      const { target, output } = open(command);
      const { users } = await readAdministrators((await target()).administrators);
      // Without their password hashes.
      const listed = users.map(({ username, roles }) => ({ username, roles }));
      await showRows(output, columns, listed, 'note: there are no users yet');
    });

  admin
    .command('remove')
    .description('remove a user')
    .argument('<name>', 'user name')
    .addHelpText('after', '\nExample:\n  data-out-ops admin remove helen')
    .action(async (username, _options, command) => {
      const { target, output } = open(command);
      const { administrators } = await target();
      const { users } = await readAdministrators(administrators);
      const left = users.filter((user) => user.username !== username);
      if (left.length === users.length)
        throw new DataOutError('not_found', `there is no user ${username}: data-out-ops admin list shows the users`);
      await administrators.write({ users: left });
      output.result({ username, removed: true }, `user ${username} is refused, within a minute`);
    });
}

/** The document of the administrators' secret. @throws OpsError `unusable_input` */
export function readAdministrators(secret: EditableSecret): Promise<AdministratorsDocument> {
  const about = { name: "the administrators' secret", form: '{"users":[...]}', empty: { users: [] } };
  return readDocument(secret, administratorsDocument, about);
}
