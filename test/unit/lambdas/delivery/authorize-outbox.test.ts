import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { coldModule, functionEnvironment } from '../../../helpers/function-module.ts';
import { authorizerEventOf } from '../../../helpers/gateway-event.ts';
import { basic } from '../../../helpers/http-request.ts';
import { makeTestIssuer, type TestIssuer } from '../../../helpers/issuer.ts';
import { secretsManagerServer } from '../../../helpers/secrets-manager-server.ts';

const denyListArn = 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:denied-AbCdEf';
const api = 'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1';
const right = basic('ana@archive', 'correct:horse');
type Module = typeof import('../../../../lambdas/delivery/authorize-outbox.ts');
let issuer: TestIssuer;
let visa: string;
let secrets: Awaited<ReturnType<typeof secretsManagerServer>>;
let handler: Module['handler'];
let restore: () => void;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  issuer = await makeTestIssuer();
  visa = await issuer.visa({ sub: 'ana' });
  secrets = await secretsManagerServer(denyListArn);
  secrets.state.secret = { denied: [] };
  const variables = {
    ARCHIVE_CREDENTIALS: 'when-presented',
    VISA_DENY_LIST_SECRET_ARN: denyListArn,
    DATABASE_CLUSTER_ARN: 'arn:aws:rds:eu-north-1:111122223333:cluster:catalogue',
    DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:role-AbCdEf',
    DATABASE_NAME: 'catalogue',
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
    // It knows no statement, so every question to the database fails.
    AWS_ENDPOINT_URL_RDS_DATA: secrets.url,
  };
  restore = functionEnvironment(variables, () => [issuer.entry]);
  handler = (await coldModule<Module>('delivery/authorize-outbox.ts')).handler;
});
afterAll(async () => {
  restore();
  await secrets.stop();
});
beforeEach(() => {
  output = captureOutput();
  return () => output.restore();
});

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

test('a visa opens list and stream, nothing else, and is not logged', async () => {
  expect(await handler(authorizerEventOf({ 'X-GA4GH-Visa': visa }))).toEqual(
    answer('Allow', outboxPrefix({ iss: issuer.iss, sub: 'ana' }), { isAdmitted: 'true' }),
  );
  for (const secret of visa.split('.')) expect(output.text()).not.toContain(secret);
});

test('a visa is refused with its reason before a user is looked up', async () => {
  const headers = { 'X-GA4GH-Visa': await issuer.visa({ exp: 1000 }), Authorization: right };
  const detail = 'the visa was refused (expired): the token has expired';
  expect(await handler(authorizerEventOf(headers))).toEqual(answer('Deny', 'refused', { detail }));
});

test('Authorization twice goes on to the function, which answers 400, and is not admitted', async () => {
  const headers = { 'X-GA4GH-Visa': visa, Authorization: [right, right] };
  expect(await handler(authorizerEventOf(headers))).toEqual(answer('Allow', 'unverified', {}));
});

test('a database that does not answer is not a refusal, and no password is logged', async () => {
  const headers = { 'X-GA4GH-Visa': visa, Authorization: right };
  await expect(handler(authorizerEventOf(headers))).rejects.toThrow(/^the authorizer failed$/);
  expect(output.documents()).toMatchObject([{ level: 'ERROR', message: 'failed' }]);
  for (const secret of ['correct:horse', right.slice(6)]) expect(output.text()).not.toContain(secret);
});
