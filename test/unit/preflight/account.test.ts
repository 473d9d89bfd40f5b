import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { settings } from '../../../bin/settings.ts';
import type { Settings } from '../../../lib/infra/settings.ts';
import { askAccount } from '../../../lib/preflight/checks.ts';
import { AwsAccount } from '../../../lib/stores/account/account.ts';
import { AccountServer, type Answers, queryAnswer } from '../../helpers/account-server.ts';
import { account as accountId, existing } from '../../helpers/settings.ts';

const server = new AccountServer();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => {
  server.answers = ready;
  server.unknown.length = 0;
  server.asked.length = 0;
});

const stack = (name: string, status: string, version?: string) =>
  queryAnswer(
    'DescribeStacks',
    `<Stacks><member><StackName>${name}</StackName><StackStatus>${status}</StackStatus><Outputs>${
      version === undefined
        ? ''
        : `<member><OutputKey>BootstrapVersion</OutputKey><OutputValue>${version}</OutputValue></member>`
    }</Outputs></member></Stacks>`,
  );
const noStack = { status: 400, code: 'ValidationError' };
const limits = (all: number, unreserved = all) =>
  JSON.stringify({ AccountLimit: { ConcurrentExecutions: all, UnreservedConcurrentExecutions: unreserved } });
const quota = (value: number) => JSON.stringify({ Quota: { Value: value } });
const option = (dataApi: boolean) =>
  queryAnswer(
    'DescribeOrderableDBInstanceOptions',
    `<OrderableDBInstanceOptions><OrderableDBInstanceOption><Engine>aurora-postgresql</Engine>` +
      `<SupportsHttpEndpoint>${dataApi}</SupportsHttpEndpoint></OrderableDBInstanceOption></OrderableDBInstanceOptions>`,
  );
const cluster = (dataApi: boolean, engine = 'aurora-postgresql') =>
  queryAnswer(
    'DescribeDBClusters',
    `<DBClusters><DBCluster><Engine>${engine}</Engine><EngineVersion>16.4</EngineVersion>` +
      `<HttpEndpointEnabled>${dataApi}</HttpEndpointEnabled></DBCluster></DBClusters>`,
  );

const lambda = 'lambda GET /2016-08-19/account-settings';
const engine = 'rds DescribeOrderableDBInstanceOptions';
/** An account that is ready for the settings of the repository. */
const ready: Answers = {
  'sts GetCallerIdentity': queryAnswer(
    'GetCallerIdentity',
    `<Account>${accountId}</Account><Arn>arn:aws:iam::${accountId}:user/olga</Arn><UserId>x</UserId>`,
  ),
  'cloudformation DescribeStacks CDKToolkit': stack('CDKToolkit', 'CREATE_COMPLETE', '28'),
  'cloudformation DescribeStacks DataOutStorage': noStack,
  'cloudformation DescribeStacks DataOutService': noStack,
  [lambda]: limits(1000),
  'apigateway GET /account': '{}',
  'apigateway GET /restapis': '{"item":[{"id":"a","endpointConfiguration":{"types":["REGIONAL"]}}]}',
  'servicequotas GetServiceQuota L-AA0FF27B': quota(600),
  'servicequotas GetServiceQuota L-C2F1777E': quota(100_000),
  'servicequotas GetServiceQuota L-F678F1CE': quota(50),
  [engine]: option(true),
};
const ask = async (change: Partial<Settings> = {}) => {
  const planned = { settings: { ...settings, ...change }, engineVersion: '18.6' };
  const results = await askAccount(new AwsAccount(server.options), planned);
  return new Map(results.map((result) => [result.id, result]));
};

test('an account that is ready: every line is fine, and nothing else was asked', async () => {
  const results = await ask();
  expect([...results.values()].filter(({ result }) => result !== 'fine')).toEqual([]);
  expect(server.unknown).toEqual([]);
  expect(results.get('account')?.found).toBe(`${accountId} in eu-north-1, as arn:aws:iam::${accountId}:user/olga`);
  expect(results.get('bootstrap')?.found).toBe('version 28');
  expect(server.asked.length).toBe(Object.keys(ready).length);
});

describe('what an account lacks', () => {
  test.each<[string, string, Answers, string]>([
    ['bootstrap', 'wrong', { 'cloudformation DescribeStacks CDKToolkit': noStack }, 'there is no stack CDKToolkit'],
    [
      'bootstrap',
      'wrong',
      { 'cloudformation DescribeStacks CDKToolkit': stack('CDKToolkit', 'CREATE_COMPLETE', '5') },
      'version 5, needed is 6',
    ],
    [
      'lambda',
      'wrong',
      { [lambda]: limits(10) },
      '10 in all, 10 unreserved; exports use up to 24: none is left for requests',
    ],
    ['log-role', 'look', { 'apigateway GET /account': '{"cloudwatchRoleArn":"arn:r"}' }, 'arn:r would be replaced'],
    ['quota-apis', 'wrong', { 'servicequotas GetServiceQuota L-AA0FF27B': quota(2) }, '1 of 2 are used, 2 are needed'],
    [
      'quota-keys',
      'wrong',
      { 'servicequotas GetServiceQuota L-C2F1777E': quota(10) },
      '10 in the region, 20 are needed',
    ],
    [
      'quota-networks',
      'look',
      { 'servicequotas GetServiceQuota L-F678F1CE': quota(5) },
      '5 in the region, 1 is needed',
    ],
    [
      'database',
      'wrong',
      { [engine]: queryAnswer('DescribeOrderableDBInstanceOptions', '<OrderableDBInstanceOptions/>') },
      'eu-north-1 does not offer Aurora PostgreSQL 18.6 for Serverless v2',
    ],
    ['database', 'wrong', { [engine]: option(false) }, 'Aurora PostgreSQL 18.6 for Serverless v2 without the Data API'],
    [
      'stacks',
      'look',
      { 'cloudformation DescribeStacks DataOutStorage': stack('DataOutStorage', 'UPDATE_COMPLETE') },
      'DataOutStorage is UPDATE_COMPLETE',
    ],
    [
      'stacks',
      'wrong',
      { 'cloudformation DescribeStacks DataOutService': stack('DataOutService', 'ROLLBACK_COMPLETE') },
      'DataOutService is ROLLBACK_COMPLETE',
    ],
  ])('%s is %s', async (id, result, answers, found) => {
    server.answers = { ...ready, ...answers };
    expect((await ask()).get(id)).toMatchObject({ result, found, remedy: expect.stringMatching(/\.$/) });
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
  const named: Answers = {
    ...ready,
    'cloudformation DescribeStacks DataOutStorage-test': noStack,
    'cloudformation DescribeStacks DataOutService-test': noStack,
    'apigateway GET /account': '{"cloudwatchRoleArn":"arn:r"}',
    'rds DescribeDBClusters': cluster(true),
    'secretsmanager DescribeSecret': '{}',
    's3 HEAD /the-archive/': { status: 200, code: '', headers: { 'x-amz-bucket-region': 'eu-north-1' } },
  };
  const askNamed = (answers: Answers = {}) => {
    server.answers = { ...named, ...answers };
    return ask(existing);
  };

  test('are there', async () => {
    const results = await askNamed();
    expect([...results.values()].filter(({ result }) => result !== 'fine')).toEqual([]);
    expect(server.unknown).toEqual([]);
    expect(results.get('database')?.found).toBe('aurora-postgresql 16.4, Data API on');
    expect([...results.keys()]).not.toContain('quota-networks');
  });

  test.each<[string, Answers, string]>([
    ['database', { 'rds DescribeDBClusters': cluster(false) }, 'aurora-postgresql 16.4, Data API off'],
    ['database', { 'rds DescribeDBClusters': cluster(true, 'aurora-mysql') }, 'aurora-mysql 16.4, Data API on'],
    [
      'database',
      { 'rds DescribeDBClusters': { status: 404, code: 'DBClusterNotFoundFault' } },
      'there is no arn:aws:rds',
    ],
    [
      'bucket-the-archive',
      { 's3 HEAD /the-archive/': { status: 404, code: 'NotFound' } },
      'there is none of this name',
    ],
    [
      'bucket-the-archive',
      { 's3 HEAD /the-archive/': { status: 301, code: 'PermanentRedirect' } },
      'it is in another region',
    ],
    [
      'bucket-the-archive',
      { 's3 HEAD /the-archive/': { status: 200, code: '', headers: { 'x-amz-bucket-region': 'eu-west-1' } } },
      'it is in eu-west-1',
    ],
    [
      'secret-database.secretArn',
      { 'secretsmanager DescribeSecret': { status: 400, code: 'ResourceNotFoundException' } },
      'there is no arn:aws:secretsmanager',
    ],
    ['secret-database.secretArn', { 'secretsmanager DescribeSecret': '{"DeletedDate":1.7e9}' }, 'there is no arn'],
  ])('%s is wrong', async (id, answers, found) => {
    expect((await askNamed(answers)).get(id)).toMatchObject({ result: 'wrong', found: expect.stringContaining(found) });
  });

  test.each(Object.keys(named).filter((question) => question !== 'sts GetCallerIdentity'))(
    'a refusal of %s is told, and the other lines are as before',
    async (question) => {
      const usual = await askNamed();
      const refused = await askNamed({ [question]: { status: 403, code: 'AccessDeniedException' } });
      const changed = [...refused.values()].filter((result) => result.result !== usual.get(result.id)?.result);
      for (const result of changed)
        expect(result).toMatchObject({ result: 'not allowed', found: 'these credentials may not ask' });
      expect(refused.size).toBe(usual.size);
      // Of a new cluster alone: what it would need is not asked for an existing one.
      const isAsked = usual.size > 0 && server.asked.includes(question);
      expect(changed.length > 0).toBe(isAsked);
    },
  );
});

test('credentials that AWS refuses end it: nothing else can be asked', async () => {
  server.answers = { ...ready, 'sts GetCallerIdentity': { status: 403, code: 'InvalidClientTokenId' } };
  await expect(ask()).rejects.toMatchObject({ name: 'InvalidClientTokenId' });
  expect(server.asked).toEqual(['sts GetCallerIdentity']);
});
