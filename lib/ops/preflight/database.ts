import * as z from 'zod';
import { outputs } from '../../contract/outputs.ts';
import type { ExistingDatabase } from '../../infra/settings.ts';
import { errorName } from '../../service/stores/aws-failure.ts';
import { takeMigrationLock } from '../../service/stores/rds/migrate.ts';
import { type Asked, fine, type Outcome, type Question, review, wrong } from './outcome.ts';

/** Questions about the database: the region's offer and a deployed cluster, or the cluster that the settings name. */
export function database(asked: Asked): readonly Question[] {
  const { account, region, settings, engineVersion: major, stacks } = asked;
  if ('clusterArn' in settings.database) return existing(asked, settings.database);
  const ask = async () => {
    const { offered, dataApi } = await account.auroraServerless(major);
    const text = `Aurora PostgreSQL ${major} for Serverless v2`;
    if (!offered) return wrong(`${region} does not offer ${text}`, 'Choose another region.');
    if (!dataApi) return wrong(`${text} without the Data API`, 'Choose a region that has the RDS Data API.');
    // Without the right to ask for the stacks, a deployed cluster is not known.
    const [storage] = await stacks().catch(() => []);
    const { [outputs.databaseClusterArn]: arn } = storage?.outputs ?? {};
    const deployed = arn === undefined ? undefined : await account.cluster(arn);
    if (deployed === undefined) return fine(`${text} with the Data API`);
    return compared(deployed.version, major);
  };
  return [{ id: 'database', check: 'database engine and Data API in the region', ask }];
}

/** AWS upgrades minor versions. A deployment would try to change a cluster of another major version to the template's version. */
function compared(version: string, major: string): Outcome {
  if (version.split('.')[0] === major) return fine(`the deployed cluster has ${version}, the template ${major}`);
  return wrong(
    `the deployed cluster has ${version}, and the template ${major}`,
    'Deploy the release of data-out whose template has the major version of the cluster. Upgrade the cluster before the template.',
  );
}

/** Whether passwords are restricted, and whether the owner may set them anyway. */
const passwordsRow = z.object({ restricted: z.string(), manager: z.boolean() });
const passwords = `select current_setting('rds.restrict_password_commands') as restricted,
  pg_has_role(current_user, 'rds_password', 'member') as manager`;

function existing({ account, region }: Asked, wanted: ExistingDatabase): readonly Question[] {
  const { clusterArn } = wanted;
  const db = account.database(wanted);
  const carriedOut = async (work: Promise<unknown>) => {
    try {
      await work;
      return fine('carried out');
    } catch (error) {
      if (!/^(DatabaseError|BadRequest|Validation)Exception$/.test(errorName(error))) throw error;
      return wrong(errorName(error), 'Report what the Data API answered. The functions and the migration rely on it.');
    }
  };
  return [
    {
      id: 'database',
      check: 'the cluster of the settings',
      ask: async () => {
        const found = await account.cluster(clusterArn);
        if (!found)
          return wrong(`there is no ${clusterArn} in ${region}`, 'Correct database.clusterArn, or the region.');
        const text = `${found.engine} ${found.version}, Data API ${found.dataApi ? 'on' : 'off'}`;
        if (found.engine !== 'aurora-postgresql') return wrong(text, 'Name a cluster of Aurora PostgreSQL.');
        return found.dataApi ? fine(text) : wrong(text, 'Switch the RDS Data API of the cluster on.');
      },
    },
    {
      id: 'database-passwords',
      check: 'who may set passwords in the database',
      ask: async () => {
        const [found] = await db.query(passwordsRow, passwords);
        if (found?.restricted !== 'on') {
          return review(
            "rds.restrict_password_commands is off: each function's login can change its own password, and lock the other functions out",
            'Set the parameter to 1 in the parameter group of the cluster, and reboot the writer.',
          );
        }
        if (found.manager) return fine('members of rds_password alone, and the owner is one');
        return wrong(
          'members of rds_password alone, and the owner is not one: Migrate fails',
          'Give grant rds_password to the user of database.secretArn.',
        );
      },
    },
    {
      id: 'do-block',
      check: 'the Data API takes a DO block',
      ask: () => carriedOut(db.execute('do $$ begin perform 1; end $$')),
    },
    {
      id: 'advisory-lock',
      check: 'the Data API takes the advisory lock of the migration',
      ask: () => carriedOut(db.transaction((transaction) => transaction.execute(takeMigrationLock))),
    },
  ];
}
