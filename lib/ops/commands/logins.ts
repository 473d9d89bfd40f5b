import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { hashPassword } from '../../common/password-hash.ts';
import { type AdministratorsDocument, administratorsDocument } from '../../contract/secrets.ts';
import { DataOutError } from '../../errors.ts';
import type { Columns } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import { readDocument } from '../secrets/document.ts';
import type { EditableSecret } from '../stores/json-secret.ts';
import type { Target } from '../target.ts';
import { checkUsername, newPassword, withPasswordOptions } from './password.ts';
import { type Open, showRows } from './session.ts';

/** A login as `list` shows it: of the central archive with its times, of an administrator with roles. */
type Login = { readonly username: string } & {
  readonly [Name in 'createdAt' | 'disabledAt']?: string | undefined;
} & { readonly roles?: readonly string[] };
type Stores = Pick<Target, 'archiveUsers' | 'administrators'>;

/** What differs between the two kinds of logins. `end` is the name of the command that refuses a login from then on. */
const kinds = {
  user: {
    ...{ example: 'jane', about: "the central archive's users, who may list and stream" },
    ...{ adds: 'add a user, or enable a disabled one', replaces: 'password', lists: 'list all users' },
    ...{ end: 'disable', ends: "refuse a user's credentials", ended: { disabled: true }, roles: undefined },
    columns: [
      ['USER', ({ username }) => username],
      ['STATE', ({ disabledAt }) => (disabledAt === undefined ? 'active' : 'disabled')],
      ['SINCE', ({ createdAt = '', disabledAt }) => disabledAt ?? createdAt],
    ] satisfies Columns<Login>,
    list: ({ archiveUsers }: Stores) => archiveUsers.list(),
    has: async ({ archiveUsers }: Stores, username: string) => Boolean(await archiveUsers.find(username)),
    save: ({ archiveUsers }: Stores, username: string, hash: string) => archiveUsers.save(username, hash),
    take: ({ archiveUsers }: Stores, username: string) => archiveUsers.disable(username),
  },
  admin: {
    ...{ example: 'helen', about: 'users of the administrative endpoints' },
    ...{ adds: 'add a user', replaces: 'password and roles', lists: 'list all users and their roles' },
    ...{ end: 'remove', ends: 'remove a user', ended: { removed: true }, roles: ['ADMIN'] },
    columns: [
      ['USER', ({ username }) => username],
      ['ROLES', ({ roles = [] }) => roles.join(', ')],
    ] satisfies Columns<Login>,
    /** Without their password hashes. */
    list: async ({ administrators }: Stores) =>
      (await readAdministrators(administrators)).users.map(({ username, roles }) => ({ username, roles })),
    has: async ({ administrators }: Stores, username: string) =>
      (await readAdministrators(administrators)).users.some((user) => user.username === username),
    save: async ({ administrators }: Stores, username: string, password: string, roles: readonly string[]) =>
      administrators.write({ users: [...(await others(administrators, username)), { username, password, roles }] }),
    take: async ({ administrators }: Stores, username: string) =>
      administrators.write({ users: await others(administrators, username) }),
  },
} as const;

/** `user add|list|disable`, the central archive's credentials, and `admin add|list|remove`, for administrative endpoints. */
export function registerLogins(program: Command, open: Open): void {
  for (const name of ['user', 'admin'] as const) register(name, program, open);
}

function register(kindName: keyof typeof kinds, program: Command, open: Open): void {
  const kind = kinds[kindName];
  const exampleOf = (rest: string) => `\nExample:\n  data-out-ops ${kindName} ${rest}`;
  const adding = exampleOf(`add ${kind.example} --generate`);
  const group = program.command(kindName).description(kind.about).addHelpText('after', adding);

  const add = withPasswordOptions(group.command('add')).description(kind.adds).argument('<name>', 'user name');
  if (kind.roles) add.option('--role <role...>', 'roles; POST /export requires ADMIN', [...kind.roles]);
  add
    .option('--replace', `change an existing user's ${kind.replaces}`)
    .addHelpText('after', adding)
    .action(async (name, { replace, ...options }, command) => {
      const { target, terminal, output } = open(command);
      const username = checkUsername(name);
      const stores = await target();
      const refuseKnown = async () => {
        if (replace || !(await kind.has(stores, username))) return;
        throw new OpsError('conflict', `there is a user ${username}; --replace gives another ${kind.replaces}`);
      };
      // A known user is refused before a person types a password.
      await refuseKnown();
      const { password, generated } = await newPassword(options, terminal);
      const { role: roles = [] } = command.opts() as { readonly role?: readonly string[] };
      const hash = await hashPassword(password);
      await refuseKnown();
      await kind.save(stores, username, hash, roles);
      const rights = kind.roles ? ` with ${roles.join(', ')}` : generated ? '' : ' may list and stream';
      const record = { username, ...(kind.roles && { roles }), ...(generated && { password }) };
      output.result(record, `user ${username}${rights}${generated ? `, password ${password}` : ''}`);
      if (kind.roles) output.note('note: this takes effect within a minute');
    });

  group
    .command('list')
    .description(kind.lists)
    .addHelpText('after', exampleOf('list'))
    .action(async (_options, command) => {
      const { target, output } = open(command);
      const logins: Iterable<Login> | AsyncIterable<Login> = await kind.list(await target());
      await showRows<Login>(output, kind.columns, logins, 'note: there are no users yet');
    });

  group
    .command(kind.end)
    .description(kind.ends)
    .argument('<name>', 'user name')
    .addHelpText('after', exampleOf(`${kind.end} ${kind.example}`))
    .action(async (username, _options, command) => {
      const { target, output } = open(command);
      const stores = await target();
      if (!(await kind.has(stores, username))) {
        const which = kind.end === 'disable' ? 'active user' : 'user';
        const remedy = `data-out-ops ${kindName} list shows the users`;
        throw new DataOutError('not_found', `there is no ${which} ${username}: ${remedy}`);
      }
      await kind.take(stores, username);
      output.result(
        { username, ...kind.ended },
        `user ${username} is refused within a minute; data-out-ops ${kindName} add ${username} lets this user in again`,
      );
    });
}

async function others(secret: EditableSecret, username: string): Promise<AdministratorsDocument['users']> {
  return (await readAdministrators(secret)).users.filter((user) => user.username !== username);
}

/** The document of the administrators' secret. @throws OpsError `unusable_input` */
export function readAdministrators(secret: EditableSecret): Promise<AdministratorsDocument> {
  const about = { name: "the administrators' secret", form: '{"users":[...]}', empty: { users: [] } };
  return readDocument(secret, administratorsDocument, about);
}
