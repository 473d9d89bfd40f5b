import { APIGatewayClient, UpdateAccountCommand } from '@aws-sdk/client-api-gateway';
import { CloudControlClient, ListResourcesCommand } from '@aws-sdk/client-cloudcontrol';
import { DescribeDBInstancesCommand, RDSClient } from '@aws-sdk/client-rds';
import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { ListServiceQuotasCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { settings } from '../../../bin/settings.ts';
import type { Settings } from '../../../lib/infra/settings.ts';
import type { AccountCluster, LocalAccount } from '../../../lib/local/account/account.ts';
import type { AwsCall } from '../../../lib/local/endpoint/traffic.ts';
import { parsePolicy } from '../../../lib/local/iam/policy.ts';
import { askAccount } from '../../../lib/ops/preflight/checks.ts';
import { runPreflight } from '../../../lib/ops/preflight/program.ts';
import { awsAccount, isNotAllowed } from '../../../lib/ops/stores/account.ts';
import { makeTerminal } from '../../helpers/ops-world.ts';
import { Service } from '../../helpers/service.ts';
import { stackTemplate } from '../../helpers/template.ts';

/** The engine gives this number to its account. */
const accountId = '000000000000';
/** Major version of the template, and the minor one that AWS gives for it. */
const engineVersion = '18';
const minorVersion = '18.6';

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
  // A rule of faults meets a call before its reply. An observer is told after it, which may be in the next test.
  forget = service.engine.traffic.addFault((call) => {
    // Functions of other files may still be at work.
    if (call.caller === 'operator') asked.push(questionOf(call));
    return undefined;
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
    serverlessVersions: new Map([
      [minorVersion, true],
      ['17.9', true],
    ]),
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
  return [name, action, input.StackName ?? input.QuotaCode ?? input.SecretId ?? input.Identifier ?? bucket]
    .filter(Boolean)
    .join(' ');
}

async function ask(change: Partial<Settings> = {}) {
  const { region, credentials, endpoints } = service.connection;
  const planned = { settings: { ...settings, ...change }, engineVersion };
  const results = await askAccount(awsAccount({ region, credentials }, endpoints), planned);
  return new Map(results.map((result) => [result.id, result]));
}

test('an account that is ready: every line is fine, and nothing is asked twice', async () => {
  const results = await ask();
  expect([...results.values()].filter(({ result }) => result !== 'fine')).toEqual([]);
  expect([...asked].sort()).toEqual([
    'apigateway GET /account',
    'apigateway GET /restapis',
    'cloudcontrolapi GetResource AWSServiceRoleForRDS',
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

test('the account in which the stacks are deployed: a person looks at what exists, and nothing is wrong', async () => {
  become(deployed);
  // The default quota of VPCs, and one of them is of the stacks.
  for (const name of ['vpc-2', 'vpc-3', 'vpc-4']) account.networks.add(name);
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

test('an account with a limit of 10 takes what reserves nothing: the line names that setting', async () => {
  Object.assign(account, { concurrency: { all: 10, unreserved: 10 } });
  expect((await ask()).get('lambda')).toMatchObject({
    result: 'wrong',
    remedy: expect.stringContaining("directFiles: 'off'"),
  });
  const off = { concurrency: { exportRequests: 2, fileExports: 2, directFiles: 'off' } as const };
  expect((await ask(off)).get('lambda')).toMatchObject({
    result: 'fine',
    found: expect.not.stringContaining('reserved,'),
  });
});

test('concurrency that deployed functions may have reserved already: a person looks', async () => {
  become(deployed);
  Object.assign(account, { concurrency: { all: 1000, unreserved: 400 } });
  const reserving = { concurrency: { ...settings.concurrency, directFiles: 300 } };
  expect((await ask(reserving)).get('lambda')).toMatchObject({
    result: 'look',
    found: '1000 in all, 400 unreserved; exports use up to 24; 600 are to be reserved, and 100 must stay',
    remedy: expect.stringMatching(/^If the deployed functions have reserved theirs already, /),
  });
  account.stacks.delete('DataOutService');
  expect((await ask(reserving)).get('lambda')).toMatchObject({ result: 'wrong' });
});

describe('the deployed cluster', () => {
  const upgraded = (version: string) => {
    become(deployed);
    const [arn = ''] = account.clusters.keys();
    account.clusters.set(arn, { engine: 'aurora-postgresql', version, dataApi: true });
  };

  test('may have a later minor version than the one that it was made with', async () => {
    upgraded('18.11');
    expect((await ask()).get('database')).toMatchObject({
      result: 'fine',
      found: 'the deployed cluster has 18.11, the template 18',
    });
  });

  test.each(['17.9', '19.1'])('may not have another major version: %s', async (version) => {
    upgraded(version);
    expect((await ask()).get('database')).toMatchObject({
      result: 'wrong',
      found: `the deployed cluster has ${version}, and the template 18`,
      remedy: expect.stringMatching(/^Deploy the release .*\.$/),
    });
  });
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
      '10 in all, 10 unreserved; exports use up to 24; 200 are to be reserved, and 100 must stay',
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
      () => account.serverlessVersions.delete(minorVersion),
      'eu-north-1 does not offer Aurora PostgreSQL 18 for Serverless v2',
    ],
    [
      'database',
      'wrong',
      () => account.serverlessVersions.set(minorVersion, false),
      'Aurora PostgreSQL 18 for Serverless v2 without the Data API',
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

  test('the role of RDS: a person looks', async () => {
    account.serviceRoles.clear();
    expect((await ask()).get('rds-role')).toMatchObject({
      result: 'look',
      remedy: expect.stringContaining('create-service-linked-role --aws-service-name rds.amazonaws.com'),
    });
  });

  const certificateArn = `arn:aws:acm:eu-north-1:${accountId}:certificate/c`;
  const domains = { dataOut: { name: 'data.example.org', certificateArn } };
  test.each<[string, string, readonly string[], string]>([
    ['fine', 'ISSUED', ['data.example.org'], 'issued'],
    ['fine', 'ISSUED', ['example.org', '*.example.org'], 'issued'],
    ['wrong', 'ISSUED', ['example.org', '*.data.example.org'], 'it is for example.org, *.data.example.org'],
    ['wrong', 'PENDING_VALIDATION', ['data.example.org'], 'its state is PENDING_VALIDATION'],
  ])('a certificate is %s: %s for %j', async (result, status, names, found) => {
    account.certificates.set(certificateArn, { status, names });
    expect((await ask({ domains })).get('certificate-data.example.org')).toMatchObject({ result, found });
  });

  test('a certificate that is missing, and a host name that is taken', async () => {
    const free = await ask({ domains });
    expect(free.get('certificate-data.example.org')).toMatchObject({
      result: 'wrong',
      found: `there is no ${certificateArn}`,
    });
    expect(free.get('domain-data.example.org')).toMatchObject({ result: 'fine' });
    account.domains.add('data.example.org');
    expect((await ask({ domains })).get('domain-data.example.org')).toMatchObject({
      result: 'wrong',
      found: 'an API of the account has it already',
    });
    for (const [name, each] of deployed.stacks) account.stacks.set(name, each);
    expect((await ask({ domains })).get('domain-data.example.org')).toMatchObject({ result: 'fine' });
  });

  test('settings that do not fit the account', async () => {
    const results = await ask({
      target: { account: '999999999999', region: 'eu-west-1' },
      apiGatewayLogRole: 'present',
    });
    expect(results.get('account')).toMatchObject({ result: 'wrong', remedy: expect.stringContaining('eu-west-1') });
    expect(results.get('log-role')).toMatchObject({ result: 'wrong', found: 'the account has none' });
    const reserving = await ask({ concurrency: { ...settings.concurrency, directFiles: 475 } });
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

  test('exist', async () => {
    const results = await ask(named());
    const readId = `read-${service.connection.outputs.ArchiveBucketName}`;
    expect([...results.values()].filter(({ result, id }) => result !== 'fine' && id !== readId)).toEqual([]);
    expect(results.get('database')?.found).toBe('aurora-postgresql 16.4, Data API on');
    expect(results.get('database-passwords')?.found).toBe('members of rds_password alone, and the owner is one');
    expect(results.get('do-block')?.found).toBe('carried out');
    expect(results.get('advisory-lock')?.found).toBe('carried out');
    expect(results.get(bucket())?.found).toBe('in eu-north-1');
    expect([...results.keys()]).not.toContain('quota-networks');
  });

  describe('a test read', () => {
    const read = async () => (await ask(named())).get(`read-${service.connection.outputs.ArchiveBucketName}`);
    const everyone = { Effect: 'Allow', Principal: { AWS: accountId }, Action: '*', Resource: '*' };
    let [bucketArn, keyArn] = ['', ''];
    beforeAll(async () => {
      bucketArn = `arn:aws:s3:::${service.connection.outputs.ArchiveBucketName}`;
      await service.archive('EGAD00000000077', 'read.vcf', 100);
      const { Properties } = (await stackTemplate('DataOutStorage')).at('Archive/Bucket');
      const [rule] = Properties.BucketEncryption.ServerSideEncryptionConfiguration;
      const [logicalId] = rule.ServerSideEncryptionByDefault.KMSMasterKeyID['Fn::GetAtt'];
      keyArn = `arn:aws:kms:eu-north-1:${accountId}:key/${[...account.keys.keys(), ...deployed.keys.keys()].find((id) => id.includes(logicalId))}`;
    });
    afterEach(() => {
      for (const arn of [bucketArn, keyArn]) service.engine.access.replacePolicy(arn, undefined);
    });

    test('takes a byte of an object', async () => {
      expect(await read()).toMatchObject({ result: 'fine', found: 'one byte of an object' });
    });

    test('meets a policy that admits one VPC endpoint', async () => {
      const Condition = { StringNotEquals: { 'aws:SourceVpce': 'vpce-1' } };
      const deny = { Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: '*', Condition };
      service.engine.access.replacePolicy(bucketArn, { Statement: [deny] });
      expect(await read()).toMatchObject({
        result: 'wrong',
        found: 'refused: explicit deny in a resource-based policy',
        remedy: expect.stringContaining('aws:SourceVpce'),
      });
    });

    test('meets a key that does not leave the decision to IAM', async () => {
      const pipeline = { ...everyone, Principal: { AWS: `arn:aws:iam::${accountId}:role/pipeline` } };
      service.engine.access.replacePolicy(keyArn, { Statement: [pipeline] });
      expect(await read()).toMatchObject({
        result: 'wrong',
        found: 'refused: no resource-based policy allows the kms:Decrypt action',
      });
      service.engine.access.replacePolicy(keyArn, { Statement: [everyone] });
      expect(await read()).toMatchObject({ result: 'fine' });
    });

    test('that the caller itself may not do says nothing of the policies', async () => {
      const statements = parsePolicy({ Statement: { Effect: 'Allow', Action: 's3:*', Resource: '*' } }, 'test');
      const { accessKeyId, secretAccessKey } = service.engine.credentials.issueForUser('without-keys', statements);
      const { region, endpoints } = service.connection;
      const asking = awsAccount({ region, credentials: { accessKeyId, secretAccessKey } }, endpoints);
      const results = await askAccount(asking, { settings: { ...settings, ...named() }, engineVersion });
      expect(results.find(({ id }) => id.startsWith('read-'))).toMatchObject({ result: 'not allowed' });
    });
  });

  test('an empty bucket: a person asks again', async () => {
    const { OutboxBucketName: bucketName } = service.connection.outputs;
    const results = await ask({ ...named(), archiveBucket: { bucketName } });
    expect(results.get(`read-${bucketName}`)).toMatchObject({ result: 'look', found: 'the bucket is empty' });
  });

  test('a cluster in which any login may change its password: a person looks', async () => {
    await service.engine.database.run('set rds.restrict_password_commands = off', []);
    const results = await ask(named());
    await service.engine.database.run('set rds.restrict_password_commands = on', []);
    expect(results.get('database-passwords')).toMatchObject({
      result: 'look',
      found: expect.stringMatching(/^rds.restrict_password_commands is off: /),
    });
  });

  test('an owner who may not set passwords is wrong', async () => {
    const { outputs } = service.connection;
    const { database } = service.engine;
    const login = { username: 'another_owner', password: 'long enough for a password' };
    await database.run(`create role another_owner login createrole password '${login.password}'`, []);
    const SecretId = outputs.AdminSecretArn;
    const { SecretString } = await service.secretsManager.send(new GetSecretValueCommand({ SecretId }));
    await service.secretsManager.send(new PutSecretValueCommand({ SecretId, SecretString: JSON.stringify(login) }));
    const results = await ask({
      ...named(),
      database: { ...named().database, secretArn: outputs.AdminSecretArn },
    } as Partial<Settings>);
    await service.secretsManager.send(new PutSecretValueCommand({ SecretId, SecretString }));
    await database.run('drop role another_owner', []);
    expect(results.get('database-passwords')).toMatchObject({
      result: 'wrong',
      found: 'members of rds_password alone, and the owner is not one: Migrate fails',
    });
    expect(results.get('do-block')?.result).toBe('fine');
  });

  test('a Data API that refuses blocks is wrong', async () => {
    const heal = service.engine.traffic.addFault(({ action, input = {} }) =>
      action === 'ExecuteStatement' && String(input.sql).startsWith('do ')
        ? { error: { status: 400, code: 'BadRequestException' } }
        : undefined,
    );
    const results = await ask(named()).finally(heal);
    expect(results.get('do-block')).toMatchObject({ result: 'wrong', found: 'BadRequestException' });
    expect(results.get('advisory-lock')?.result).toBe('fine');
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
      ...{ settings, engineVersion, issuers: '[]', missing: [], nodeVersion: '24.1.0' },
      account: awsAccount,
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

  test('refuses what is missing', async () => {
    const { region, credentials, endpoints } = service.connection;
    const asking = awsAccount({ region, credentials }, endpoints);
    expect(await asking.quota('vpc', 'L-00000000')).toBeUndefined();
    expect(await asking.stack('Nothing')).toBeUndefined();
    expect(await asking.bucket('nothing')).toBeUndefined();
  });

  test('tells a function nothing that its role does not allow', async () => {
    const { accessKeyId, secretAccessKey, sessionToken = '' } = service.engine.functions.definition('files').principal;
    const credentials = { accessKeyId, secretAccessKey, sessionToken };
    const asking = awsAccount({ region: 'eu-north-1', credentials }, service.connection.endpoints);
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
