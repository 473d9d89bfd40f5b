import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { awsAccount } from '../../../../lib/ops/stores/account.ts';
import { listenLocally } from '../../../helpers/loopback.ts';

/** Answers in the forms of AWS's API references, by the action that IAM asks for. */
const answers: Readonly<Record<string, string>> = {
  'sts:GetCallerIdentity':
    '<R><GetCallerIdentityResult><Arn>arn:aws:iam::1:user/a</Arn><Account>1</Account></GetCallerIdentityResult></R>',
  'cloudformation:DescribeStacks':
    '<R><DescribeStacksResult><Stacks><member><StackName>S</StackName><CreationTime>2026-11-22T10:00:00Z</CreationTime>' +
    '<StackStatus>CREATE_COMPLETE</StackStatus><Outputs><member><OutputKey>K</OutputKey><OutputValue>V</OutputValue></member>' +
    '</Outputs></member></Stacks></DescribeStacksResult></R>',
  'lambda:GetAccountSettings': '{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":900}}',
  'rds:DescribeOrderableDBInstanceOptions':
    '<R><DescribeOrderableDBInstanceOptionsResult><OrderableDBInstanceOptions><OrderableDBInstanceOption>' +
    '<SupportsHttpEndpoint>true</SupportsHttpEndpoint></OrderableDBInstanceOption></OrderableDBInstanceOptions>' +
    '</DescribeOrderableDBInstanceOptionsResult></R>',
  'rds:DescribeDBClusters':
    '<R><DescribeDBClustersResult><DBClusters><DBCluster><Engine>aurora-postgresql</Engine><EngineVersion>18.6</EngineVersion>' +
    '<HttpEndpointEnabled>true</HttpEndpointEnabled></DBCluster></DBClusters></DescribeDBClustersResult></R>',
  'apigateway:GET': '{"cloudwatchRoleArn":"arn:aws:iam::1:role/r"}',
  'secretsmanager:DescribeSecret': '{"ARN":"arn:s"}',
};

test('the account understands what AWS answers, and asks only what the policy of the deployer allows', async () => {
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, service = ''] =
        /\/[a-z]+-[a-z]+-\d\/([a-z]+)\/aws4_request/.exec(request.headers.authorization ?? '') ?? [];
      const target = String(request.headers['x-amz-target'] ?? '').split('.')[1];
      const form = new URLSearchParams(Buffer.concat(chunks).toString()).get('Action');
      const byPath = service === 'apigateway' ? request.method : 'GetAccountSettings';
      const action = `${service}:${target ?? form ?? byPath}`;
      asked.add(action);
      response.end(answers[action]);
    });
  });
  const endpoint = await listenLocally(server);
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const account = awsAccount({ region: 'eu-north-1', endpoint, credentials });
  expect(await account.identity()).toEqual({ id: '1', arn: 'arn:aws:iam::1:user/a', region: 'eu-north-1' });
  expect(await account.stack('S')).toEqual({ K: 'V' });
  expect(await account.lambdaConcurrency()).toEqual({ all: 1000, unreserved: 900 });
  expect(await account.auroraServerless('18')).toEqual({ offered: true, dataApi: true });
  const cluster = { engine: 'aurora-postgresql', version: '18.6', dataApi: true };
  expect(await account.cluster('arn:c')).toEqual(cluster);
  expect(await account.apiGatewayLogRole()).toBe('arn:aws:iam::1:role/r');
  expect(await account.hasSecret('arn:s')).toBe(true);
  server.close();
  server.closeAllConnections();
  const policy = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../docs/policies/deployer.json'), 'utf8'));
  const { Action: allowed } = policy.Statement.find(({ Sid }: { Sid: string }) => Sid === 'Preflight');
  // Each caller may ask who it is.
  expect([...asked].filter((action) => action !== 'sts:GetCallerIdentity').sort()).toEqual(allowed);
});
