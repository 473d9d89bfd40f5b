import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../lib/local/iam/policy.ts';
import { ResourcePolicies } from '../../lib/local/iam/resource-policies.ts';
import { whereOf } from '../../lib/local/template/template.ts';
import { deploymentOf, rolesOf, widest } from '../helpers/function-roles.ts';
import { existing } from '../helpers/settings.ts';

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
