import { hash } from 'bcryptjs';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { ArchiveCredentialsPolicy } from '../../../../lib/contract/environment.ts';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { unavailable } from '../../../../lib/errors.ts';
import type { ArchiveUsers } from '../../../../lib/service/outbox/ports.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { authorizerEventOf } from '../../../helpers/gateway-event.ts';
import { basic } from '../../../helpers/http-request.ts';
import { makeTestIssuer, type TestIssuer } from '../../../helpers/issuer.ts';

const api = 'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1';
const right = basic('ana@archive', 'correct:horse');
let issuer: TestIssuer;
let visa: string;
let passwordHash: string;
let asked: string[];
let policy: ArchiveCredentialsPolicy;
let isDown: boolean;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  issuer = await makeTestIssuer();
  visa = await issuer.visa({ sub: 'ana' });
  passwordHash = await hash('correct:horse', 4);
});
afterAll(() => {
  vi.doUnmock('../../../../lambdas/shared/wiring.ts');
  vi.doUnmock('../../../../lib/service/catalogue/users.ts');
  vi.unstubAllEnvs();
});
beforeEach(() => {
  asked = [];
  policy = 'required';
  isDown = false;
  output = captureOutput();
  return () => output.restore();
});

/** A new function instance: no password is remembered from another test. */
async function authorize(headers: Readonly<Record<string, string | readonly string[]>>) {
  vi.resetModules();
  // Loaded again with the function: its errors are to be the function's.
  const { rulesOf } = await import('../../../helpers/issuer.ts');
  class RdsArchiveUsers implements ArchiveUsers {
    async find(username: string) {
      asked.push(username);
      if (isDown) throw unavailable('the database is paused');
      return username === 'ana@archive' ? { username, passwordHash } : undefined;
    }
  }
  vi.stubEnv('ARCHIVE_CREDENTIALS', policy);
  vi.doMock('../../../../lambdas/shared/wiring.ts', () => ({
    deployedVisaRules: () => rulesOf(issuer, () => new Date()),
    promptDatabase: () => ({}),
  }));
  vi.doMock('../../../../lib/service/catalogue/users.ts', () => ({ RdsArchiveUsers }));
  const { handler } = await import('../../../../lambdas/delivery/authorize-outbox.ts');
  return await handler(authorizerEventOf(headers));
}

const answer = (Effect: string, principalId: string, context: Record<string, string>) => ({
  principalId,
  context,
  policyDocument: {
    Version: '2012-10-17',
    Statement: [
      {
        Action: 'execute-api:Invoke',
        Effect,
        Resource: [`${api}/GET/files`, `${api}/GET/stream/*`, `${api}/HEAD/stream/*`],
      },
    ],
  },
});
const ana = () => outboxPrefix({ iss: issuer.iss, sub: 'ana' });

test('visa and archive credentials open list and stream, nothing else, and neither is logged', async () => {
  expect(await authorize({ 'X-GA4GH-Visa': visa, Authorization: right })).toEqual(
    answer('Allow', ana(), { isAdmitted: 'true', archiveUser: 'ana@archive' }),
  );
  for (const secret of [...visa.split('.'), 'correct:horse', right.slice(6)]) {
    expect(output.text()).not.toContain(secret);
  }
});

test('the visa alone does where the settings let it', async () => {
  policy = 'when-presented';
  expect(await authorize({ 'Proxy-Authorization': `Bearer ${visa}` })).toEqual(
    answer('Allow', ana(), { isAdmitted: 'true' }),
  );
  expect(asked).toEqual([]);
});

test('a visa is refused with its reason before a user is looked up', async () => {
  const headers = { 'X-GA4GH-Visa': await issuer.visa({ exp: 1000 }), Authorization: right };
  const detail = 'the visa was refused (expired): the token has expired';
  expect(await authorize(headers)).toEqual(answer('Deny', 'refused', { detail }));
  expect(asked).toEqual([]);
});

test('Authorization twice goes on to the function, which answers 400, and is not admitted', async () => {
  const headers = { 'X-GA4GH-Visa': visa, Authorization: [right, right] };
  expect(await authorize(headers)).toEqual(answer('Allow', 'unverified', {}));
});

test('a database that is down is not a refusal', async () => {
  isDown = true;
  await expect(authorize({ 'X-GA4GH-Visa': visa, Authorization: right })).rejects.toThrow(/^the authorizer failed$/);
  expect(output.documents()).toMatchObject([{ level: 'ERROR', message: 'failed' }]);
});
