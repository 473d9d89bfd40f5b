import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { entryHash } from '../../../../lib/contract/deny-list.ts';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { signTicket } from '../../../../lib/service/direct/htsget/token.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { coldModule, functionEnvironment } from '../../../helpers/function-module.ts';
import { authorizerEvent } from '../../../helpers/gateway-event.ts';
import { makeTestIssuer, type TestIssuer } from '../../../helpers/issuer.ts';
import { secretsManagerServer } from '../../../helpers/secrets-manager-server.ts';

const denyListArn = 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:denied-AbCdEf';
const ticketKeyArn = 'arn:aws:secretsmanager:eu-north-1:111122223333:secret:ticket-AbCdEf';
const ticketKey = '0123456789abcdef'.repeat(4);
type Module = typeof import('../../../../lambdas/direct/authorize-visa.ts');
const cold = async () => (await coldModule<Module>('direct/authorize-visa.ts')).handler;
let issuer: TestIssuer;
let secrets: Awaited<ReturnType<typeof secretsManagerServer>>;
let handler: Module['handler'];
let restore: () => void;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  issuer = await makeTestIssuer();
  secrets = await secretsManagerServer(denyListArn, { [ticketKeyArn]: { key: ticketKey } });
  secrets.state.secret = { denied: [{ iss: issuer.iss, jti: 'stolen' }] };
  const variables = {
    VISA_DENY_LIST_SECRET_ARN: denyListArn,
    TICKET_KEY_SECRET_ARN: ticketKeyArn,
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
  };
  restore = functionEnvironment(variables, () => [issuer.entry]);
  handler = await cold();
});
afterAll(async () => {
  restore();
  await secrets.stop();
});
beforeEach(() => {
  output = captureOutput();
  return () => output.restore();
});

test.each([
  ['a visa', () => issuer.visa({ sub: 'ana' })],
  ['a passport', async () => issuer.passport([await issuer.visa({ sub: 'ana' })], { sub: 'ana' })],
  [
    'a visa of another type, which grants nothing',
    () => issuer.visa({ sub: 'ana', visa: { type: 'ResearcherStatus' } }),
  ],
])('%s in force is let through, under a hash of its subject', async (_, token) => {
  const value = await token();
  expect(await handler(authorizerEvent(`Bearer ${value}`))).toEqual({
    principalId: outboxPrefix({ iss: issuer.iss, sub: 'ana' }),
    context: {},
    policyDocument: {
      Version: '2012-10-17',
      Statement: [
        {
          Action: 'execute-api:Invoke',
          Effect: 'Allow',
          Resource: ['arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1/*'],
        },
      ],
    },
  });
  expect(output.text()).not.toContain(value);
  expect(output.text()).not.toContain('ana');
});

test('a denied visa is refused with the reason, and no token is logged', async () => {
  const value = await issuer.visa({ claims: { jti: 'stolen' } });
  expect(await handler(authorizerEvent(`Bearer ${value}`))).toMatchObject({
    context: {
      detail: 'the visa was refused (denied): the operator of the service has denied this token or its subject',
    },
    policyDocument: { Statement: [{ Effect: 'Deny' }] },
  });
  expect(output.documents()).toMatchObject([{ level: 'INFO', message: 'refused', requestId: 'gateway-request' }]);
  expect(output.text()).not.toContain(value);
});

describe('the token of an htsget ticket', () => {
  const principalId = 'ab'.repeat(32);
  const token = (dependsOn: readonly string[] = [principalId]) =>
    signTicket(
      { path: 'EGAF 1/0.header', datasetId: 'EGAD1', expiresAt: new Date('2096-01-01'), principalId, dependsOn },
      Buffer.from(ticketKey),
    );
  const answerTo = async (value: string, resource: string, id = 'EGAF%201') => {
    const event = { ...authorizerEvent(`Bearer ${value}`), resource, pathParameters: { id, part: '0.header' } };
    const { principalId: principal, policyDocument } = await handler(event);
    return [principal, policyDocument.Statement.map(({ Effect }) => Effect)];
  };
  const parts = '/htsget/parts/{id}/{part}';

  test('is let through on its own data URL, under the hash of its subject', async () => {
    expect(await answerTo(token(), parts)).toEqual([principalId, ['Allow']]);
    expect(output.text()).not.toContain(token());
  });

  test('is refused on any other route and URL, and when what it depends on is denied', async () => {
    const denied = entryHash({ iss: issuer.iss, jti: 'stolen' });
    for (const answer of [
      answerTo(token(), '/htsget/reads/{id+}'),
      answerTo(token(), '/files/{fileId}'),
      answerTo(token(), parts, 'EGAF2'),
      answerTo(token([denied]), parts),
    ]) {
      expect(await answer).toEqual(['refused', ['Deny']]);
    }
  });
});

test('a failure of the authorizer is not a refusal', async () => {
  const event = {
    ...authorizerEvent(undefined),
    get multiValueHeaders(): never {
      throw new RangeError('broken');
    },
  };
  await expect(handler(event)).rejects.toThrow(/^the authorizer failed$/);
  expect(output.documents()).toMatchObject([{ level: 'ERROR', message: 'failed' }]);
});

test('without a deny list, a good visa is not a refusal either: the gateway answers 503', async () => {
  const another = await cold();
  const event = authorizerEvent(`Bearer ${await issuer.visa()}`);
  secrets.state.failure = 500;
  await expect(another(event)).rejects.toThrow(/^the authorizer failed$/);
  expect(output.documents()).toMatchObject([{ level: 'ERROR', error: 'DataOutError' }]);
  secrets.state.failure = undefined;
  expect(await another(event)).toMatchObject({ policyDocument: { Statement: [{ Effect: 'Allow' }] } });
});
