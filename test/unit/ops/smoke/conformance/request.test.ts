import { expect, test } from 'vitest';
import { NotApplicable } from '../../../../../lib/ops/smoke/check.ts';
import { credentialRows } from '../../../../../lib/ops/smoke/conformance/credentials.ts';
import { rightCase } from '../../../../../lib/ops/smoke/conformance/operations.ts';
import { requestOf } from '../../../../../lib/ops/smoke/conformance/request.ts';
import type { Run } from '../../../../../lib/ops/smoke/run.ts';

const { operation } = rightCase('delivery GET /files');
/** Of a deployment with this password, which its researchers need or not. */
const runWith = (needsPassword: boolean, password: string) =>
  ({ expected: { needsPassword }, visa: 'v', access: { archiveUser: { username: 'u', password } } }) as unknown as Run;

test('no request without a password is sent to a deployment that accepts it', async () => {
  const [row = ''] = credentialRows.researcher.find(([request]) => request.includes('noPassword')) ?? [];
  await expect(requestOf(operation, runWith(false, 'p'), row)).rejects.toThrow(NotApplicable);
  const { headers } = await requestOf(operation, runWith(true, 'p'), row);
  expect(headers).toEqual({ authorization: [], 'x-ga4gh-visa': ['v'] });
});

test('a password is sent as it is', async () => {
  const password = "a)b$&c$'{user}";
  const { headers } = await requestOf(operation, runWith(true, password), '');
  expect(headers.authorization).toEqual([`Basic ${Buffer.from(`u:${password}`).toString('base64')}`]);
});
