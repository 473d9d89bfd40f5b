import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stackNames } from '../../lib/contract/outputs.ts';
import type { ExistingDatabase } from '../../lib/infra/settings.ts';
import { blocksOf } from '../../test/helpers/pages.ts';
import { afterwards } from './changes.ts';
import type { Checkout } from './checkout.ts';
import { dataset, type MainJob } from './main-job.ts';
import type { Log } from './run-steps.ts';

const { storage, service } = stackNames();
const restorePage = 'docs/restore.md';

/** A block of a page. @param at which one of its section */
function blockOf(page: string, section: string, language = 'sh', at = 0): string {
  const found = blocksOf(page).filter((block) => block.section === section && block.language === language)[at];
  if (!found) throw new Error(`${page} has no block of ${language} below "${section}"`);
  return found.text;
}

/** Carries out commands of a page, which use the outputs of the stacks as variables. */
async function follow(checkout: Checkout, log: Log, commands: string, outputs: Readonly<Record<string, string>> = {}) {
  const cwd = join(checkout.folder, 'private/recovery');
  mkdirSync(cwd, { recursive: true });
  const env = { ...checkout.surroundings.env, STORAGE: storage, SERVICE: service, ...outputs };
  // A command that writes to /dev/stdout wants no socket there.
  await log.run(['bash', '-euo', 'pipefail', '-c', `{ ${commands}\n} | cat`], { cwd, env });
}

/** `docs/restore.md#rebuild-the-service-stack`, while an order waits. */
export async function rebuild(checkout: Checkout, job: MainJob, log: Log): Promise<string> {
  await follow(checkout, log, blockOf(restorePage, '1. Stop the workers'), await checkout.cloud.outputs(storage));
  const { requestId } = await job.order('researcher-of-the-rebuild');
  const { ExportRequestsQueueUrl = '', ProxyUrl: former } = await checkout.cloud.outputs();
  await checkout.cdk(log, 'destroy', service, '--force');
  const place = ExportRequestsQueueUrl.replace(/\/[^/]+$/, '');
  const mapping = blockOf(restorePage, 'Rebuild the service stack', 'json');
  const ours = mapping.replaceAll('https://sqs.REGION.amazonaws.com/ACCOUNT', place);
  writeFileSync(join(checkout.folder, 'private/queues.json'), ours);
  await checkout.cdk(log, 'import', service, '--resource-mapping', 'private/queues.json');
  const said = await checkout.deploy(log);
  await job.completed(requestId);
  const { ProxyUrl } = await checkout.cloud.outputs();
  if (ProxyUrl === former) throw new Error('the APIs were not made again');
  return `${said}; the order that waited is complete`;
}

/** `docs/restore.md#restore-the-database`. A copy in PostgreSQL stands in for step 3, which the emulator does not know. */
export async function restore(checkout: Checkout, job: MainJob, log: Log): Promise<string> {
  const { admin } = checkout.cloud.database;
  const outputs = await checkout.cloud.outputs(storage);
  const { DatabaseName } = outputs;
  const step = (section: string) => blockOf(restorePage, section);
  const { MasterUsername: owner } = await checkout.cloud.cluster();
  await admin(`create database state_at_a template ${DatabaseName} owner ${owner}`);
  const timeA = new Date().toISOString().slice(0, 19);
  await job.completed((await job.order('researcher-after-a')).requestId);
  await checkout.ops(log, `dataset deprecate ${dataset}`);

  await follow(checkout, log, step('1. Stop the workers'), outputs);
  await follow(checkout, log, step('2. Save what the lost database still has'));
  await admin(`drop database ${DatabaseName} with (force)`);
  await admin(`alter database state_at_a rename to ${DatabaseName}`);
  for (const at of [0, 1]) {
    const statement = blockOf(restorePage, '4. Close all datasets', 'sql', at).replaceAll('\n', ' ');
    const where = '--resource-arn "$DatabaseClusterArn" --secret-arn "$DatabaseSecretArn" --database "$DatabaseName"';
    await follow(checkout, log, `aws rds-data execute-statement ${where} --sql "${statement}"`, outputs);
  }
  checkout.writeSettings({ ...afterwards, database: await named(checkout, outputs) });
  const said = await checkout.deploy(log);
  const clear = step('6. Clear the outbox of what came after A').replace('2026-11-21T10:00:00', timeA);
  await follow(checkout, log, clear, outputs);
  await checkout.ops(log, `dataset release ${dataset}`);
  await follow(checkout, log, step('8. Start the workers'));
  const { names } = await job.containers('researcher-after-a');
  if (names.length > 0) throw new Error(`${names.length} containers of after A are in the outbox`);
  return `${said}; ${await job.export(log)}; ${await job.download(log)}`;
}

/** The cluster of the storage stack, as settings: step 5. */
async function named({ cloud }: Checkout, outputs: Readonly<Record<string, string>>): Promise<ExistingDatabase> {
  const {
    DatabaseClusterArn: clusterArn = '',
    DatabaseSecretArn: secretArn = '',
    DatabaseName: databaseName = '',
  } = outputs;
  return { clusterArn, secretArn, secretKeyArn: await cloud.keyOf(secretArn), databaseName };
}

/** `docs/operations.md#passwords-of-the-database`, for the role of the direct API. */
export async function changePassword(checkout: Checkout, job: MainJob, log: Log): Promise<string> {
  const commands = blockOf('docs/operations.md', 'Passwords of the database');
  await follow(checkout, log, commands.replace('ROLE=Proxy', 'ROLE=Reader'));
  return await job.directAccess();
}

/** `docs/operations.md#taking-a-deployment-down`. Nothing is deleted while it is protected. */
export async function takeDown(checkout: Checkout, log: Log): Promise<string> {
  const [, invoke = ''] = blockOf('docs/operations.md', 'Passwords of the database').split(/(?=^MIGRATE=)/m);
  await follow(checkout, log, invoke.replaceAll('FunctionsMigrate', 'FunctionsProtect'));
  await checkout.cdk(log, 'destroy', service, '--force');
  const { code } = await log.attempt(['cdk', 'destroy', storage, '--force'], checkout.surroundings);
  if (code === 0) throw new Error(`${storage} was destroyed while it was protected`);
  const { DBClusterIdentifier: id } = await checkout.cloud.cluster();
  const commands = blockOf('docs/operations.md', 'Taking a deployment down')
    .replace(' ID ', ` ${id} `)
    // Version 1 of the tool has its own address of RDS for us-east-1, over AWS_ENDPOINT_URL.
    .replace('aws rds', 'aws --endpoint-url "$AWS_ENDPOINT_URL" rds')
    .replace('npx cdk destroy', `cd ${checkout.folder}; npx cdk destroy --force`);
  await follow(checkout, log, commands);
  return `${storage} refused while it was protected`;
}
