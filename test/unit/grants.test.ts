import { describe, expect, test } from 'vitest';
import { type AccessEntry, grantText } from '../../lib/local/iam/access.ts';
import { parsePolicy } from '../../lib/local/iam/policy.ts';
import { report } from '../grants/report.ts';
import type { Grant } from '../helpers/function-roles.ts';

const role = 'arn:aws:iam::0:role/work';
const allowed = (Action: string, Resource: string) =>
  parsePolicy({ Statement: { Effect: 'Allow', Action, Resource } }, 'x');
const [narrow, wide, other] = [allowed('s3:Get', 'a1'), allowed('s3:Get', 'a*'), allowed('s3:Put', 'a1')].flat();
const grants = [narrow, wide, other].map((statement) => ({ name: 'Work', role, statement }) as Grant);

function call(action: string, resource: string, rest: Partial<AccessEntry> = {}): AccessEntry {
  const by = grants.filter(({ statement }) => statement.applies({ action, resource }));
  const texts = by.map(({ statement }) => grantText(statement));
  return { name: 'work', role, origin: 'code', permission: { action, resource }, grants: texts, ...rest };
}
const needed = (entries: readonly AccessEntry[]) => report(grants, entries).judged.map(({ isNeeded }) => isNeeded);

describe('a grant', () => {
  test('is needed if a call would be refused without it', () => {
    expect(needed([call('s3:Put', 'a1'), call('s3:Get', 'a2')])).toEqual([false, true, true]);
  });

  test('is not needed if another one allows all its calls, too', () => {
    expect(needed([call('s3:Get', 'a1')])).toEqual([false, false, false]);
  });

  test('is not needed because another role uses the same', () => {
    expect(needed([call('s3:Put', 'a1', { role: 'arn:aws:iam::0:role/else' })])).toEqual([false, false, false]);
  });
});

test('a call that its role does not allow is told, and one of a role outside the template is not', () => {
  const refusal = 'because no identity-based policy allows the s3:Delete action';
  const denied = call('s3:Delete', 'a1', { refusal });
  const { denied: told } = report(grants, [denied, { ...denied, role: 'arn:aws:iam::0:role/of-a-fixture' }]);
  expect(told).toEqual([denied]);
});
