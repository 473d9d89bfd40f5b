import { describe, expect, test } from 'vitest';
import { settings } from '../../../../bin/settings.ts';
import { SettingsError } from '../../../../lib/infra/check-settings.ts';
import type { Settings } from '../../../../lib/infra/settings.ts';
import { askAccount, runPreflight } from '../../../../lib/ops/preflight/preflight.ts';
import type { AwsAccount } from '../../../../lib/ops/stores/account.ts';
import { makeTerminal } from '../../../helpers/ops-world.ts';
import { templatesOf } from '../../../helpers/synthesized.ts';

/** An account before the first deployment, which is ready for the settings of the repository. */
const ready: AwsAccount = {
  identity: async () => ({ id: '123456789012', arn: 'arn:aws:iam::123456789012:user/ada', region: 'eu-north-1' }),
  stack: async (name) => (name === 'CDKToolkit' ? { BootstrapVersion: '28' } : undefined),
  lambdaConcurrency: async () => ({ all: 1000, unreserved: 1000 }),
  auroraServerless: async () => ({ offered: true, dataApi: true }),
  apiGatewayLogRole: async () => undefined,
  bucketRegion: async () => 'eu-north-1',
  testRead: async () => true,
  cluster: async () => ({ engine: 'aurora-postgresql', version: '16.4', dataApi: true }),
  passwordRights: async () => ({ restricted: true, manager: true }),
  hasSecret: async () => true,
};

async function ask(account: Partial<AwsAccount> = {}, change: Partial<Settings> = {}) {
  // Nothing else of the settings changes what is computed from the templates.
  const { stored, served } = templatesOf({
    ...settings,
    ...(change.concurrency && { concurrency: change.concurrency }),
  });
  const templates = [stored.toJSON(), served.toJSON()];
  const planned = { settings: { ...settings, ...change }, templates, engineVersion: '18' };
  const results = await askAccount({ ...ready, ...account }, planned);
  return new Map(results.map((result) => [result.id, result]));
}

test('an account that is ready: every line is fine', async () => {
  expect([...(await ask()).values()].map(({ id, result, found }) => [id, result, found])).toEqual([
    ['account', 'fine', '123456789012 in eu-north-1, as arn:aws:iam::123456789012:user/ada'],
    ['bootstrap', 'fine', 'version 28'],
    // Requests 2, files 10 and 10, deliveries 2, and two recorders of given-up messages for each of the four queues.
    ['lambda', 'fine', '1000 in all, 1000 unreserved; the stacks reserve 200, and their queues use up to 32'],
    ['log-role', 'fine', 'the account has none: the deployment makes one'],
    ['database', 'fine', 'Aurora PostgreSQL 18 for Serverless v2 with the Data API'],
  ]);
});

const database = {
  clusterArn: 'arn:aws:rds:eu-north-1:123456789012:cluster:c',
  secretArn: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:owner-AbCdEf',
  databaseName: 'archive',
};
const bucket = { archiveBucket: { bucketName: 'theirs' } };
const archiveKeysSecret = { secretArn: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:keys-AbCdEf' };
const unreserved = (count: number) => ({ lambdaConcurrency: async () => ({ all: count, unreserved: count }) });
const off = { concurrency: { ...settings.concurrency, directFiles: 'off' as const } };
const cluster = (change: object) => ({
  cluster: async () => ({ engine: 'aurora-postgresql', version: '16.4', dataApi: true, ...change }),
});
const rights = (restricted: boolean) => ({ passwordRights: async () => ({ restricted, manager: false }) });
const refusal = (words: string) => ({
  testRead: async () => {
    throw Object.assign(new Error(`User is not authorized ${words}`), { name: 'AccessDenied' });
  },
});

test.each<[string, string, string, Partial<AwsAccount>, Partial<Settings>?]>([
  ['account', 'wrong', 'as arn:', {}, { target: { account: '999999999999', region: 'eu-west-1' } }],
  ['bootstrap', 'wrong', 'there is no stack CDKToolkit', { stack: async () => undefined }],
  ['bootstrap', 'wrong', 'needed is 6', { stack: async () => ({ BootstrapVersion: '5' }) }],
  ['lambda', 'wrong', '10 in all, 10 unreserved', unreserved(10)],
  ['lambda', 'wrong', '100 must stay unreserved', unreserved(299)],
  ['lambda', 'fine', 'the stacks reserve 200', unreserved(300)],
  ['lambda', 'wrong', '33 must stay unreserved', unreserved(32), off],
  ['lambda', 'fine', 'the stacks reserve 0', unreserved(33), off],
  ['lambda', 'look', '299 unreserved', { ...unreserved(299), stack: async () => ({}) }],
  ['log-role', 'look', 'arn:r would be replaced', { apiGatewayLogRole: async () => 'arn:r' }],
  ['log-role', 'wrong', 'the account has none', {}, { apiGatewayLogRole: 'present' }],
  ['log-role', 'fine', 'arn:r', { apiGatewayLogRole: async () => 'arn:r' }, { apiGatewayLogRole: 'present' }],
  ['database', 'wrong', 'does not offer', { auroraServerless: async () => ({ offered: false, dataApi: false }) }],
  ['database', 'wrong', 'without the Data API', { auroraServerless: async () => ({ offered: true, dataApi: false }) }],
  ['database', 'fine', 'aurora-postgresql 16.4, Data API on', {}, { database }],
  ['database', 'wrong', 'there is no arn:aws:rds', { cluster: async () => undefined }, { database }],
  ['database', 'wrong', 'Data API off', cluster({ dataApi: false }), { database }],
  ['database', 'wrong', 'aurora-mysql', cluster({ engine: 'aurora-mysql' }), { database }],
  ['database', 'look', 'restrict_password_commands is off', rights(false), { database }],
  ['database', 'wrong', 'the owner is not one', rights(true), { database }],
  ['bucket-theirs', 'fine', 'read one', {}, bucket],
  ['bucket-theirs', 'wrong', 'none of this name', { bucketRegion: async () => undefined }, bucket],
  ['bucket-theirs', 'wrong', 'in another region', { bucketRegion: async () => 'elsewhere' }, bucket],
  ['bucket-theirs', 'wrong', 'in eu-west-1', { bucketRegion: async () => 'eu-west-1' }, bucket],
  ['bucket-theirs', 'look', 'empty', { testRead: async () => false }, bucket],
  [
    'bucket-theirs',
    'wrong',
    'refused: explicit deny',
    refusal('with an explicit deny in a resource-based policy'),
    bucket,
  ],
  ['bucket-theirs', 'not allowed', 'may not ask', refusal('because no identity-based policy allows it'), bucket],
  ['secret', 'fine', 'it exists', {}, { archiveKeysSecret }],
  ['secret', 'wrong', 'there is no arn', { hasSecret: async () => false }, { archiveKeysSecret }],
])('%s is %s: %s', async (id, result, found, account, change) => {
  const line = (await ask(account, change)).get(id);
  expect(line).toMatchObject({ result, found: expect.stringContaining(found) });
  if (result !== 'fine') expect(line?.remedy).toMatch(/\.$/);
});

test('a question that AWS refuses or does not answer changes its own line alone', async () => {
  const usual = await ask();
  for (const name of ['stack', 'lambdaConcurrency', 'apiGatewayLogRole', 'auroraServerless'] as const) {
    for (const [error, result] of [
      ['AccessDeniedException', 'not allowed'],
      ['ServiceUnavailable', 'look'],
    ] as const) {
      const refuse = async () => {
        throw Object.assign(new Error('no'), { name: error });
      };
      const lines = [...(await ask({ [name]: refuse })).values()];
      const changed = lines.filter((line) => line.result !== usual.get(line.id)?.result);
      expect([name, lines.length, changed.map((line) => line.result)]).toEqual([name, usual.size, [result]]);
    }
  }
});

describe('the command', () => {
  const run = async (templates: () => Promise<readonly object[]>) => {
    const { terminal, said } = makeTerminal();
    const account = () => ({ ...ready, stack: async () => undefined });
    const inputs = { settings, engineVersion: '18', account, templates };
    return { exitCode: await runPreflight([], terminal, inputs), ...said };
  };

  test('ends with 1 and a remedy when a line is wrong', async () => {
    const { exitCode, stdout, stderr } = await run(async () => []);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^CDK bootstrap +wrong +there is no stack CDKToolkit +Give npx cdk bootstrap\.$/m);
    expect(stderr).toBe('preflight: 1 of 5 checks are wrong: bootstrap\n');
  });

  test('asks nothing when the settings cannot work', async () => {
    const refused = await run(() => Promise.reject(new SettingsError('private/settings.ts cannot work')));
    expect(refused).toEqual({ exitCode: 2, stdout: '', stderr: 'preflight: private/settings.ts cannot work\n' });
  });
});
