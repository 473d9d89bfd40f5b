import * as z from 'zod';
import { databaseRoles } from '../../../contract/database-roles.ts';
import { errorName } from '../../../service/stores/aws-failure.ts';
import { databaseOf } from '../../target.ts';
import { type Check, messageOf, NotApplicable } from '../check.ts';
import { expectThat } from '../expect-that.ts';

const one = z.object({ one: z.number() });
const [files, users, log] = ['sda.files', 'data_out.archive_users', 'data_out.export_log'];
const reading = (table: string) => `select 1 as one from ${table} limit 0`;
const deleting = (table: string) => `delete from ${table} where false`;
const changingHeaders = `update ${files} set header = '' where false`;

/** What each role may read, and statements that it may not run. None of them touches a row. */
const roles: Readonly<
  Record<keyof typeof databaseRoles, { readonly reads: string; readonly mayNot: readonly string[] }>
> = {
  reader: { reads: files, mayNot: [changingHeaders, deleting(files), reading(log), reading(users)] },
  proxy: { reads: users, mayNot: [reading(files), deleting(users)] },
  auditor: { reads: log, mayNot: [deleting(log), reading(files)] },
  worker: { reads: files, mayNot: [changingHeaders, deleting(log), reading(users)] },
};

/** With it a login would lock the functions of its role out. RDS refuses it: `rds.restrict_password_commands`. */
const ownPassword = 'alter role current_user password null';

const remedy =
  'Invoke the function Migrate: it makes the roles and their rights. Then compare the rights with lib/service/stores/rds/database-role.ts. If the role can change its password, check whether rds.restrict_password_commands waits for a reboot of the writer.';

export const databaseChecks = Object.entries(roles).map(
  ([name, { reads, mayNot }]): Check => ({
    id: `role-${databaseRoles[name as keyof typeof roles]}`,
    title: `the role ${databaseRoles[name as keyof typeof roles]} may do what it needs, and nothing else`,
    remedy,
    async run(run) {
      const begin = `Catalogue${name[0]?.toUpperCase()}${name.slice(1)}Secret`;
      const secretArn = await run.resource('AWS::SecretsManager::Secret', begin);
      if (secretArn === undefined)
        throw new NotApplicable('the stacks made no secret of this role: its database or its routes are not theirs');
      const db = databaseOf(run.deployment, secretArn);
      await db.query(one, reading(reads)).catch((error: unknown) => {
        if (!/^AccessDenied/.test(errorName(error))) throw error;
        throw new NotApplicable('your credentials may not read the secret of this role');
      });
      for (const statement of [...mayNot, ownPassword]) {
        // What is carried out all the same is undone.
        const refusal = await db
          .transaction(async (transaction) => {
            await transaction.execute(statement);
            throw new Error('it was carried out');
          })
          .catch(messageOf);
        // SQLSTATE 42501: insufficient_privilege.
        expectThat(/42501|permission denied|member of rds_password/.test(refusal), `${statement}: ${refusal}`);
      }
      return `${mayNot.length + 1} statements are refused`;
    },
  }),
);
