import * as z from 'zod';
import { type DatabaseRole, databaseRoles } from '../../../contract/database-roles.ts';
import { errorName } from '../../../service/stores/aws-failure.ts';
import { databaseOf } from '../../target.ts';
import { type Check, messageOf, NotApplicable } from '../check.ts';
import { expectThat } from '../steps.ts';

const one = z.object({ one: z.number() });

/** A statement that each role may run, and those that it may not. None of them touches a row. */
const roles: readonly {
  readonly role: DatabaseRole;
  /** Begins the logical id of its secret. */
  readonly secret: string;
  readonly may: string;
  readonly mayNot: readonly string[];
}[] = [
  {
    role: databaseRoles.reader,
    secret: 'CatalogueReaderSecret',
    may: 'select 1 as one from sda.files limit 0',
    mayNot: [
      "update sda.files set header = '' where false",
      'delete from sda.files where false',
      'select 1 as one from data_out.export_log limit 0',
      'select 1 as one from data_out.archive_users limit 0',
    ],
  },
  {
    role: databaseRoles.proxy,
    secret: 'CatalogueProxySecret',
    may: 'select 1 as one from data_out.archive_users limit 0',
    mayNot: ['select 1 as one from sda.files limit 0', 'delete from data_out.archive_users where false'],
  },
  {
    role: databaseRoles.auditor,
    secret: 'CatalogueAuditorSecret',
    may: 'select 1 as one from data_out.export_log limit 0',
    mayNot: ['delete from data_out.export_log where false', 'select 1 as one from sda.files limit 0'],
  },
  {
    role: databaseRoles.worker,
    secret: 'CatalogueWorkerSecret',
    may: 'select 1 as one from sda.files limit 0',
    mayNot: [
      "update sda.files set header = '' where false",
      'delete from data_out.export_log where false',
      'select 1 as one from data_out.archive_users limit 0',
    ],
  },
];

/** With it a login would lock the functions of its role out. RDS refuses it: `rds.restrict_password_commands`. */
const ownPassword = 'alter role current_user password null';

const roleChecks = roles.map(
  ({ role, secret, may, mayNot }): Check => ({
    id: `role-${role}`,
    title: `the role ${role} may do what it needs, and nothing else`,
    remedy:
      'Invoke the function Migrate: it makes the roles and their rights. Then compare the rights with lib/service/stores/rds/database-role.ts. If the role can change its password, check whether rds.restrict_password_commands waits for a reboot of the writer.',
    async run(run) {
      const secretArn = await run.resource('AWS::SecretsManager::Secret', secret);
      if (secretArn === undefined)
        throw new NotApplicable('the stacks made no secret of this role: its database or its routes are not theirs');
      const db = databaseOf(run.deployment, secretArn);
      try {
        await db.query(one, may);
      } catch (error) {
        if (!/^AccessDenied/.test(errorName(error))) throw error;
        throw new NotApplicable('your credentials may not read the secret of this role');
      }
      for (const statement of [...mayNot, ownPassword]) {
        // What is carried out all the same is undone.
        const refusal = await db
          .transaction(async (transaction) => {
            await transaction.execute(statement);
            throw new Error('it was carried out');
          })
          .catch((error: unknown) => messageOf(error));
        // SQLSTATE 42501: insufficient_privilege.
        expectThat(/42501|permission denied|member of rds_password/.test(refusal), `${statement}: ${refusal}`);
      }
      return `${mayNot.length + 1} statements are refused`;
    },
  }),
);

const colons: Check = {
  id: 'colons',
  title: 'whether colons in a literal are taken for parameters is told',
  remedy: 'Report what the Data API answered. The functions rely on it.',
  async run({ deployment }) {
    const statement = "select 1 as one where to_char(now(), 'HH24:MI:SS') is not null";
    const refused = await databaseOf(deployment)
      .query(one, statement)
      .then(
        () => undefined,
        (error: unknown) => messageOf(error),
      );
    return refused === undefined ? 'they are not' : `they are, so formats go by parameters: ${refused}`;
  },
};

export const databaseChecks = [...roleChecks, colons];
