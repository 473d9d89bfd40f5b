import { hash } from 'bcryptjs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { coldModule, functionEnvironment } from '../../../helpers/function-module.ts';
import { authorizerEvent } from '../../../helpers/gateway-event.ts';
import { basic } from '../../../helpers/http-request.ts';
import { secretsManagerServer } from '../../../helpers/secrets-manager-server.ts';

const secretArn = 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:admins-AbCdEf';
let server: Awaited<ReturnType<typeof secretsManagerServer>>;
let password: string;
let restore: () => void;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  password = await hash('correct:horse', 4);
  server = await secretsManagerServer(secretArn);
  restore = functionEnvironment({
    ADMIN_SECRET_ARN: secretArn,
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: server.url,
  });
});
afterAll(async () => {
  restore();
  await server.stop();
});

async function coldHandler() {
  type Module = typeof import('../../../../lambdas/delivery/authorize-admin.ts');
  return (await coldModule<Module>('delivery/authorize-admin.ts')).handler;
}

beforeEach(() => {
  output = captureOutput();
  server.state.failure = undefined;
  server.state.secret = {
    users: [
      { username: 'admin', password, roles: ['ADMIN'] },
      { username: 'reader', password, roles: ['READER'] },
    ],
  };
  return () => output.restore();
});

const answer = (effect: string, principalId: string, context: Record<string, string>) => ({
  principalId,
  context,
  policyDocument: {
    Version: '2012-10-17',
    Statement: [
      {
        Action: 'execute-api:Invoke',
        Effect: effect,
        Resource: [
          'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1/POST/export/*',
          'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1/GET/export/*',
          'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1/GET/admin',
          'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1/GET/admin/',
        ],
      },
    ],
  },
});

test('an administrator may call export, and nothing else of the API', async () => {
  const handler = await coldHandler();
  expect(await handler(authorizerEvent(basic('admin', 'correct:horse')))).toEqual(
    answer('Allow', 'admin', { isAdministrator: 'true' }),
  );
});

test('a refusal has its reason, which the gateway makes a 401', async () => {
  const handler = await coldHandler();
  const detail = 'user name or password is wrong';
  expect(await handler(authorizerEvent(basic('admin', 'wrong')))).toEqual(answer('Deny', 'refused', { detail }));
});

test.each([
  ['Secrets Manager is down', () => (server.state.failure = 500)],
  ['the secret is not of the agreed form', () => (server.state.secret = { administrators: [] })],
  [
    'a password was stored as plain text',
    () => (server.state.secret = { users: [{ username: 'admin', password: 'correct:horse', roles: ['ADMIN'] }] }),
  ],
])('when %s, the answer is neither a 401 nor a 403', async (_, breakIt) => {
  breakIt();
  const handler = await coldHandler();
  await expect(handler(authorizerEvent(basic('admin', 'correct:horse')))).rejects.toThrow(/^the authorizer failed$/);
  expect(output.documents()).toContainEqual(expect.objectContaining({ level: 'ERROR', message: 'failed' }));
  expect(output.text()).not.toContain('correct:horse');
});

test('neither password nor header is ever logged', async () => {
  const handler = await coldHandler();
  const right = basic('admin', 'correct:horse');
  await handler(authorizerEvent(right));
  await handler(authorizerEvent(basic('admin', 'wrong-password')));
  await handler(authorizerEvent('Basic malformed-header'));
  expect(output.documents()).toHaveLength(3);
  for (const secret of ['correct:horse', right.slice(6), 'wrong-password', 'malformed-header', password]) {
    expect(output.text()).not.toContain(secret);
  }
});
