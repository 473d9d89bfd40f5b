import { describe, expect, test } from 'vitest';
import { evaluate } from '../../lib/local/iam/access.ts';
import { Credentials } from '../../lib/local/iam/credentials.ts';
import { parsePolicy, parseStatement } from '../../lib/local/iam/policy.ts';
import { ResourcePolicies } from '../../lib/local/iam/resource-policies.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import { deploy } from '../../lib/local/template/deployment.ts';
import { whereOf } from '../../lib/local/template/template.ts';
import { deploymentOf, rolesOf, synthesize, widest } from '../helpers/function-roles.ts';
import { account, existing } from '../helpers/settings.ts';

describe('the local engine can evaluate every policy', () => {
  test.each([
    ['with all that widens roles', widest],
    ['with an archive that existed before', existing],
    ['with all that can be left out', { withdrawal: 'off', deliveryReceipt: false, adminPage: false }],
  ] as const)('%s', (_, change) => {
    const deployment = deploymentOf(change);
    expect(rolesOf(deployment).length).toBeGreaterThan(20);
    expect(() => new ResourcePolicies(deployment)).not.toThrow();
    // Also those of roles that no function has.
    const policies = deployment.resources('AWS::IAM::Policy');
    const parsed = policies.map((policy) => parsePolicy(policy.property('PolicyDocument'), whereOf(policy)));
    expect(parsed.every(({ length }) => length > 0)).toBe(true);
  });
});

test('the keys of stacks for one account leave their use to the policies of the callers', () => {
  const target = { account, region: 'eu-west-1' };
  const stacks = loadAssembly(synthesize({ target }).directory);
  const deployment = deploy(stacks, { queueUrl: (name) => name, apiUrl: (id) => id });
  const policies = new ResourcePolicies(deployment);
  const statements = parseStatement({ Effect: 'Allow', Action: 'kms:*', Resource: '*' }, 'the test');
  const caller = new Credentials().issueForUser('operator', statements);
  const keys = deployment.resources('AWS::KMS::Key').map(({ attribute }) => attribute('Arn'));
  expect(keys.length).toBeGreaterThan(5);
  for (const resource of keys) {
    expect(evaluate(policies, caller, { action: 'kms:DescribeKey', resource }).refusal, resource).toBeUndefined();
  }
  expect(JSON.stringify(stacks.map(({ template }) => template))).not.toContain(account);
}, 120_000);
