import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../lib/local/iam/policy.ts';
import { ResourcePolicies } from '../../lib/local/iam/resource-policies.ts';
import { whereOf } from '../../lib/local/template/template.ts';
import { allGrants, deploymentOf, rolesOf } from '../grants/roles.ts';
import { widest } from '../grants/settings.ts';
import { grantsTable, tableIn, unmarked } from '../grants/table.ts';
import { existing } from '../helpers/settings.ts';

test('the table of SECURITY.md is what the templates allow (npm run grants -- --write)', () => {
  const { grants, deployment } = allGrants();
  expect(grants.length).toBeGreaterThan(200);
  const page = readFileSync(join(import.meta.dirname, '../../SECURITY.md'), 'utf8');
  // Who uses a grant is known after a run only.
  expect(unmarked(tableIn(page))).toBe(unmarked(grantsTable(grants, deployment)));
}, 120_000);

describe('the local engine can evaluate every policy', () => {
  test.each([
    ['with all that widens roles', widest],
    ['with an archive that was there before', existing],
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
