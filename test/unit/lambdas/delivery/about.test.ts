import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { coldModule, functionEnvironment } from '../../../helpers/function-module.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';

const login = { issuer: 'https://login.example.org/oidc/', clientId: 'data-out', scopes: ['openid'] };
const trusted = [
  { iss: 'https://a.example.org/' },
  { iss: 'https://broker.example.org/', issues: ['passports'] },
  { iss: 'https://b.example.org/', issues: ['visas'] },
];

test.each([
  ['required', true, undefined],
  ['when-presented', false, login],
])('caches may keep what the service is: credentials %s', async (policy, basicRequired, set) => {
  const variables = {
    ...{ ORGANIZATION_NAME: 'Example Archive', ARCHIVE_KIND: 'fega', ARCHIVE_CREDENTIALS: policy },
    ...(set && { LOGIN: JSON.stringify(set) }),
  };
  onTestFinished(functionEnvironment(variables, () => trusted));
  const { handler } = await coldModule<typeof import('../../../../lambdas/delivery/about.ts')>('delivery/about.ts');
  const { statusCode, headers, body } = await handler(gatewayEvent({ path: '/.well-known/data-out' }));
  expect(statusCode).toBe(200);
  expect(headers).toMatchObject({ 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=3600' });
  const about = { name: 'data-out', version: packageJson.version, organization: 'Example Archive' };
  const issuers = ['https://a.example.org/', 'https://b.example.org/'];
  expect(JSON.parse(body)).toEqual({
    ...{ ...about, archiveKind: 'fega', basicRequired, issuers },
    ...(set && { login: set }),
  });
});
