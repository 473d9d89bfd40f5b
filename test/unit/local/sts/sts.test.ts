import { expect, test } from 'vitest';
import { Credentials } from '../../../../lib/local/iam/credentials.ts';
import { isAllowed } from '../../../../lib/local/iam/policy.ts';
import { sts } from '../../../../lib/local/sts/sts.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';

const trust = (Principal: unknown) => ({ Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal }] });
const root = { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':iam::', { Ref: 'AWS::AccountId' }, ':root']] };
const allow = { Statement: [{ Effect: 'Allow', Action: 'sqs:SendMessage', Resource: 'arn:aws:sqs:::jobs' }] };
const role = (RoleName: string, principal: unknown) => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    RoleName,
    AssumeRolePolicyDocument: trust(principal),
    Policies: [{ PolicyName: 'own', PolicyDocument: allow }],
  },
});

const template = {
  Resources: { A: role('people', { AWS: root }), B: role('lambda', { Service: 'lambda.amazonaws.com' }) },
};
const stack = { name: 'S', template, region: undefined, assets: new Map<string, string>() };
const deployment = deploy([stack], { queueUrl: (name) => name, apiUrl: (id) => id });
const credentials = new Credentials();
const service = sts(deployment, credentials, () => new Date('2026-11-21T10:00:00Z'));

async function assume(name: string) {
  const RoleArn = `arn:aws:iam::000000000000:role/${name}`;
  const form = new URLSearchParams({ Action: 'AssumeRole', Version: '2011-06-15', RoleArn, RoleSessionName: 'me' });
  const body = Buffer.from(form.toString());
  const { action, input, permissions } = service.parse('/', {}, body, '');
  expect(permissions).toEqual([{ action: 'sts:AssumeRole', resource: RoleArn }]);
  return await service.handle(action, input, body, {});
}

test('gives the credentials of a role that trusts the account, for an hour', async () => {
  const { status, body } = await assume('people');
  const part = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(body)?.[1] ?? '';
  expect([status, part('Expiration')]).toEqual([200, '2026-11-21T11:00:00.000Z']);
  const principal = credentials.find(part('AccessKeyId'));
  expect(principal).toMatchObject({ arn: 'arn:aws:iam::000000000000:role/people', sessionToken: part('SessionToken') });
  const may = (resource: string) => isAllowed(principal?.statements ?? [], { action: 'sqs:SendMessage', resource });
  expect([may('arn:aws:sqs:::jobs'), may('arn:aws:sqs:::others')]).toEqual([true, false]);
});

test.each(['lambda', 'unknown'])('refuses the role %s', async (name) => {
  await expect(assume(name)).rejects.toMatchObject({ status: 403, code: 'AccessDenied' });
});
