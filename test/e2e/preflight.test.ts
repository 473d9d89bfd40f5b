import { APIGatewayClient, UpdateAccountCommand } from '@aws-sdk/client-api-gateway';
import { CloudControlClient, ListResourcesCommand } from '@aws-sdk/client-cloudcontrol';
import { DescribeDBInstancesCommand, RDSClient } from '@aws-sdk/client-rds';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { ListServiceQuotasCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import type { AccountCluster, LocalAccount } from '../../lib/local/account/account.ts';
import type { AwsCall } from '../../lib/local/endpoint/traffic.ts';
import { askAccount } from '../../lib/preflight/checks.ts';
import { runPreflight } from '../../lib/preflight/program.ts';
import { AwsAccount, isNotAllowed } from '../../lib/stores/account/account.ts';
import { makeTerminal } from '../helpers/ops-world.ts';
import { Service } from '../helpers/service.ts';

/** The engine gives this number to its account. */
const accountId = '000000000000';
const engineVersion = '18.6';

let service: Service;
let account: LocalAccount;
let forget: () => void;
/** As the engine has it, for the other files that use it. */
let deployed: LocalAccount;
/** What was asked: `kms ListKeys`. */
const asked: string[] = [];

beforeAll(async () => {
  service = await Service.shared();
  account = service.engine.account;
  deployed = structuredClone(account);
  forget = service.engine.traffic.observe((call) => {
    // Functions of other files may still be at work.
    if (call.caller === 'operator') asked.push(questionOf(call));
  });
});
afterAll(async () => {
  forget();
  become(deployed);
  await service.stop();
});
beforeEach(() => {
  become(ready());
  service.engine.s3.otherRegions.clear();
  asked.length = 0;
});

/** An account before the first deployment, which is ready for the settings of the repository. */
function ready(): LocalAccount {
  return {
    ...structuredClone(deployed),
    stacks: new Map([stack('CDKToolkit', 'CREATE_COMPLETE', { BootstrapVersion: '28' })]),
    concurrency: { all: 1000, unreserved: 1000 },
    apiGatewayLogRole: undefined,
    restApis: new Map([
      ['a', ['REGIONAL']],
      ['b', ['EDGE']],
    ]),
    serverlessVersions: new Map([[engineVersion, true]]),
    networks: new Set(['vpc-1', 'vpc-2']),
    keys: new Map([
      ['1', undefined],
      ['2', 'alias/aws/s3'],
      ['3', undefined],
    ]),
  };
}

function become(other: LocalAccount): void {
  for (const [name, value] of Object.entries(structuredClone(other))) {
    const current = account[name as keyof LocalAccount];
    if (current instanceof Map && value instanceof Map) {
      current.clear();
      for (const [key, each] of value) (current as Map<unknown, unknown>).set(key, each);
    } else if (current instanceof Set) {
      current.clear();
      for (const each of value as Set<string>) current.add(each);
    } else Object.assign(account, { [name]: value });
  }
}

function stack(name: string, status: string, outputs: Readonly<Record<string, string>> = {}) {
  return [name, { status, outputs, createdAt: new Date('2026-11-22T10:00:00Z') }] as const;
}

/** With what tells two questions of one action apart. */
function questionOf({ service: name, action, input = {}, bucket }: AwsCall): string {
  return [name, action, input.StackName ?? input.QuotaCode ?? input.SecretId ?? bucket].filter(Boolean).join(' ');
}

async function ask(change: Partial<Settings> = {}) {
  const { region, credentials, endpoints } = service.connection;
  const planned = { settings: { ...settings, ...change }, engineVersion };
  const results = await askAccount(new AwsAccount({ region, credentials }, endpoints), planned);
  return new Map(results.map((result) => [result.id, result]));
}

test('an account that is ready: every line is fine, and nothing is asked twice', async () => {
  const results = await ask();
  expect([...results.values()].filter(({ result }) => result !== 'fine')).toEqual([]);
  expect([...asked].sort()).toEqual([
    'apigateway GET /account',
    'apigateway GET /restapis',
    'cloudcontrolapi ListResources',
    'cloudformation DescribeStacks CDKToolkit',
    'cloudformation DescribeStacks DataOutService',
    'cloudformation DescribeStacks DataOutStorage',
    'kms ListAliases',
    'kms ListKeys',
    'lambda GetAccountSettings',
    'rds DescribeOrderableDBInstanceOptions',
    'secretsmanager ListSecrets',
    'servicequotas GetServiceQuota L-2F66C23C',
    'servicequotas GetServiceQuota L-AA0FF27B',
    'servicequotas GetServiceQuota L-C2F1777E',
    'servicequotas GetServiceQuota L-F678F1CE',
    'sts GetCallerIdentity',
  ]);
  const found = (id: string) => results.get(id)?.found;
  expect(found('account')).toBe(`${accountId} in eu-north-1, as arn:aws:iam::${accountId}:user/operator`);
  expect(found('bootstrap')).toBe('version 28');
  expect(found('quota-apis')).toBe('1 of 600 are used, 2 are needed');
  // The key of AWS does not count.
  expect(found('quota-keys')).toBe('2 of 100000 are used, 20 are needed');
  expect(found('quota-networks')).toBe('2 of 5 are used, 1 is needed');
  expect(found('quota-secrets')).toMatch(/^\d+ of 500000 are used, 20 are needed$/);
});

test('the account in which the stacks are deployed: a person looks at what is there, and nothing is wrong', async () => {
  become(deployed);
  // The default quota of VPCs, and one of them is of the stacks.
  for (const name of ['vpc-2', 'vpc-3', 'vpc-4']) account.networks.add(name);
  account.serverlessVersions.set(engineVersion, true);
  const results = await ask();
  expect([...results.values()].filter(({ result }) => result === 'wrong')).toEqual([]);
  expect(results.get('stacks')).toMatchObject({
    result: 'look',
    found: 'DataOutStorage is CREATE_COMPLETE, DataOutService is CREATE_COMPLETE',
  });
  expect(results.get('log-role')).toMatchObject({ result: 'look', found: expect.stringContaining(':role/') });
  expect(results.get('quota-apis')?.found).toBe('2 of 600 are used, 2 are needed');
  expect(results.get('quota-networks')?.found).toBe('5 of 5 are used, with those of the stacks');
  // What is needed covers what the stacks make: all secrets and customer keys of this account are theirs.
  for (const id of ['quota-keys', 'quota-secrets']) {
    const [used, , needed] = results.get(id)?.found.match(/\d+/g)?.map(Number) ?? [];
    expect([id, Number(used) > 0, Number(used) <= Number(needed)]).toEqual([id, true, true]);
  }
});

test('concurrency that deployed functions may have reserved already: a person looks', async () => {
  become(deployed);
  Object.assign(account, { concurrency: { all: 1000, unreserved: 400 } });
  const reserving = { concurrency: { ...settings.concurrency, directFiles: 600 } };
  expect((await ask(reserving)).get('lambda')).toMatchObject({
    result: 'look',
    found: '1000 in all, 400 unreserved; exports use up to 24; 600 are to be reserved, and 100 must stay',
    remedy: expect.stringMatching(/^If the deployed functions have reserved theirs already, /),
  });
  account.stacks.delete('DataOutService');
  expect((await ask(reserving)).get('lambda')).toMatchObject({ result: 'wrong' });
});

describe('what an account lacks', () => {
  test.each<[string, string, () => unknown, string]>([
    ['bootstrap', 'wrong', () => account.stacks.delete('CDKToolkit'), 'there is no stack CDKToolkit'],
    [
      'bootstrap',
      'wrong',
      () => account.stacks.set(...stack('CDKToolkit', 'CREATE_COMPLETE', { BootstrapVersion: '5' })),
      'version 5, needed is 6',
    ],
    [
      'lambda',
      'wrong',
      () => Object.assign(account, { concurrency: { all: 10, unreserved: 10 } }),
      '10 in all, 10 unreserved; exports use up to 24: none is left for requests',
    ],
    ['log-role', 'look', () => Object.assign(account, { apiGatewayLogRole: 'arn:r' }), 'arn:r would be replaced'],
    ['quota-apis', 'wrong', () => account.quotas.set('apigateway/L-AA0FF27B', 2), '1 of 2 are used, 2 are needed'],
    ['quota-keys', 'wrong', () => account.quotas.set('kms/L-C2F1777E', 21), '2 of 21 are used, 20 are needed'],
    ['quota-secrets', 'wrong', () => account.quotas.set('secretsmanager/L-2F66C23C', 20), 'of 20 are used, 20 are'],
    ['quota-networks', 'wrong', () => account.networks.add('3').add('4').add('5'), '5 of 5 are used, 1 is needed'],
    ['quota-networks', 'look', () => account.quotas.delete('vpc/L-F678F1CE'), '2 are used; the quota is not known'],
    [
      'database',
      'wrong',
      () => account.serverlessVersions.clear(),
      'eu-north-1 does not offer Aurora PostgreSQL 18.6 for Serverless v2',
    ],
    [
      'database',
      'wrong',
      () => account.serverlessVersions.set(engineVersion, false),
      'Aurora PostgreSQL 18.6 for Serverless v2 without the Data API',
    ],
    [
      'stacks',
      'look',
      () => account.stacks.set(...stack('DataOutStorage', 'UPDATE_COMPLETE')),
      'DataOutStorage is UPDATE_COMPLETE',
    ],
    [
      'stacks',
      'wrong',
      () => account.stacks.set(...stack('DataOutService', 'ROLLBACK_COMPLETE')),
      'DataOutService is ROLLBACK_COMPLETE',
    ],
  ])('%s is %s', async (id, result, change, found) => {
    change();
    expect((await ask()).get(id)).toMatchObject({
      result,
      found: expect.stringContaining(found),
      remedy: expect.stringMatching(/\.$/),
    });
  });

  test('settings that do not fit the account', async () => {
    const results = await ask({
      target: { account: '999999999999', region: 'eu-west-1' },
      apiGatewayLogRole: 'present',
    });
    expect(results.get('account')).toMatchObject({ result: 'wrong', remedy: expect.stringContaining('eu-west-1') });
    expect(results.get('log-role')).toMatchObject({ result: 'wrong', found: 'the account has none' });
    const reserving = await ask({ concurrency: { ...settings.concurrency, directFiles: 950 } });
    expect(reserving.get('lambda')).toMatchObject({ result: 'wrong', found: expect.stringContaining('950 are to be') });
  });
});

describe('resources that the settings name', () => {
  const cluster = (change: Partial<AccountCluster>) => {
    const facts = { engine: 'aurora-postgresql', version: '16.4', dataApi: true, ...change };
    account.clusters.set(service.connection.outputs.DatabaseClusterArn, facts);
  };
  /** Those of the engine, as if they had been there before. */
  const named = (): Partial<Settings> => {
    const { outputs } = service.connection;
    return {
      stage: 'test',
      target: { account: accountId, region: 'eu-north-1' },
      archiveBucket: { bucketName: outputs.ArchiveBucketName, keyArn: `arn:aws:kms:eu-north-1:${accountId}:key/k` },
      archiveKeysSecret: { secretArn: outputs.ArchiveKeysSecretArn },
      database: {
        clusterArn: outputs.DatabaseClusterArn,
        secretArn: outputs.DatabaseSecretArn,
        databaseName: outputs.DatabaseName,
      },
      apiGatewayLogRole: 'present',
    };
  };
  const bucket = () => `bucket-${service.connection.outputs.ArchiveBucketName}`;
  const change = (settingsChange: Partial<Settings>) => () => ({ ...named(), ...settingsChange });
  beforeEach(() => {
    account.apiGatewayLogRole = 'arn:r';
    cluster({});
  });

  test('are there', async () => {
    const results = await ask(named());
    expect([...results.values()].filter(({ result }) => result !== 'fine')).toEqual([]);
    expect(results.get('database')?.found).toBe('aurora-postgresql 16.4, Data API on');
    expect(results.get(bucket())?.found).toBe('in eu-north-1');
    expect([...results.keys()]).not.toContain('quota-networks');
  });

  const elsewhere = 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:none-AbCdEf';
  test.each<[string, () => unknown, string]>([
    ['database', () => cluster({ dataApi: false }), 'aurora-postgresql 16.4, Data API off'],
    ['database', () => cluster({ engine: 'aurora-mysql' }), 'aurora-mysql 16.4, Data API on'],
    ['database', () => account.clusters.clear(), 'there is no arn:aws:rds'],
    [
      'bucket',
      () => service.engine.s3.otherRegions.set(service.connection.outputs.ArchiveBucketName, 'eu-west-1'),
      'it is in another region',
    ],
    ['bucket-none', change({ archiveBucket: { bucketName: 'none' } }), 'there is none of this name'],
    ['secret-archiveKeysSecret.secretArn', change({ archiveKeysSecret: { secretArn: elsewhere } }), `no ${elsewhere}`],
    [
      'secret-database.secretArn',
      () => account.deletedSecrets.set(service.connection.outputs.DatabaseSecretArn, new Date()),
      'there is no arn',
    ],
  ])('%s is wrong', async (id, mistake, found) => {
    const changed = mistake();
    const isSettings = typeof changed === 'object' && changed !== null && 'stage' in changed;
    const results = await ask(isSettings ? (changed as Partial<Settings>) : named());
    const line = results.get(id === 'bucket' ? bucket() : id);
    expect(line).toMatchObject({ result: 'wrong', found: expect.stringContaining(found) });
  });
});

test('a refusal of any question is told, and the other lines are as before', async () => {
  const usual = await ask();
  const questions = asked.filter((question) => question !== 'sts GetCallerIdentity');
  expect(questions.length).toBeGreaterThan(12);
  for (const question of questions) {
    const heal = service.engine.traffic.addFault((call) =>
      questionOf(call) === question ? { error: { status: 403, code: 'AccessDeniedException' } } : undefined,
    );
    const refused = await ask().finally(heal);
    const changed = [...refused.values()].filter((result) => result.result !== usual.get(result.id)?.result);
    expect([question, changed.length]).toEqual([question, 1]);
    expect(changed[0]).toMatchObject({ result: 'not allowed', found: 'these credentials may not ask' });
    expect(refused.size).toBe(usual.size);
  }
});

test('credentials that AWS refuses end it: nothing else can be asked', async () => {
  const heal = service.engine.traffic.addFault(({ action }) =>
    action === 'GetCallerIdentity' ? { error: { status: 403, code: 'InvalidClientTokenId' } } : undefined,
  );
  await expect(ask().finally(heal)).rejects.toMatchObject({ name: 'InvalidClientTokenId' });
  expect(asked).toEqual(['sts GetCallerIdentity']);
});

describe('npm run preflight -- --aws --connection', () => {
  const run = async (...argv: string[]) => {
    const { terminal, said } = makeTerminal();
    const exitCode = await runPreflight(argv, terminal, {
      ...{ settings, engineVersion, issuers: '[]', nodeVersion: '24.1.0' },
      account: (...parameters) => new AwsAccount(...parameters),
    });
    return { exitCode, ...said };
  };

  test('asks the account of a running engine', async () => {
    const { exitCode, stdout } = await run('--aws', '--json', '--connection', service.engine.connectionPath);
    expect(exitCode, stdout).toBe(0);
    expect(stdout).toContain(`${accountId} in eu-north-1`);
  });

  test('needs --aws, and goes without a region', async () => {
    const file = service.engine.connectionPath;
    expect(await run('--connection', file)).toMatchObject({
      exitCode: 2,
      stderr: 'preflight: --connection: is for an account: add --aws\n',
    });
    const { exitCode, stderr } = await run('--aws', '--region', 'eu-north-1', '--connection', file);
    expect([exitCode, stderr]).toEqual([
      2,
      'preflight: --connection: names the local engine, which has its region: leave --region out\n',
    ]);
  });
});

describe('the account', () => {
  const options = () => ({ ...optionsOf(service.connection), maxAttempts: 1 });

  test.each<[string, () => Promise<unknown>, string]>([
    [
      'another type of Cloud Control',
      () => new CloudControlClient(options()).send(new ListResourcesCommand({ TypeName: 'AWS::S3::Bucket' })),
      'UnsupportedActionException',
    ],
    [
      'another action of Service Quotas',
      () => new ServiceQuotasClient(options()).send(new ListServiceQuotasCommand({ ServiceCode: 'vpc' })),
      'UnknownOperationException',
    ],
    [
      'a change of API Gateway',
      () => new APIGatewayClient(options()).send(new UpdateAccountCommand({})),
      'NotFoundException',
    ],
    ['another action of RDS', () => new RDSClient(options()).send(new DescribeDBInstancesCommand({})), 'InvalidAction'],
    [
      'a secret that waits for its deletion',
      () => {
        const { AdminSecretArn: arn } = service.connection.outputs;
        account.deletedSecrets.set(arn, new Date());
        return service.secretsManager.send(new GetSecretValueCommand({ SecretId: arn }));
      },
      'InvalidRequestException',
    ],
  ])('refuses %s', async (_name, send, error) => {
    await expect(send()).rejects.toMatchObject({ name: error });
  });

  test('refuses what is not there', async () => {
    const { region, credentials, endpoints } = service.connection;
    const asking = new AwsAccount({ region, credentials }, endpoints);
    expect(await asking.quota('vpc', 'L-00000000')).toBeUndefined();
    expect(await asking.stack('Nothing')).toBeUndefined();
    expect(await asking.bucket('nothing')).toBeUndefined();
  });

  test('tells a function nothing that its role does not allow', async () => {
    const { accessKeyId, secretAccessKey, sessionToken = '' } = service.engine.functions.definition('files').principal;
    const credentials = { accessKeyId, secretAccessKey, sessionToken };
    const asking = new AwsAccount({ region: 'eu-north-1', credentials }, service.connection.endpoints);
    for (const question of [
      () => asking.lambdaConcurrency(),
      () => asking.apiGatewayLogRole(),
      () => asking.quota('vpc', 'L-F678F1CE'),
      () => asking.networks(),
      () => asking.customerKeys(),
      () => asking.secrets(),
      () => asking.stack('CDKToolkit'),
      () => asking.auroraServerless(engineVersion),
    ]) {
      await expect(question()).rejects.toSatisfy(isNotAllowed);
    }
    // Of itself each caller may ask.
    expect((await asking.identity()).arn).toContain(':role/');
  });
});

function optionsOf({ region, credentials, endpoints }: Service['connection']) {
  return { region, credentials, endpoint: endpoints.rds };
}
