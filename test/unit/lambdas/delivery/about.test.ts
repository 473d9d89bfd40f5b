import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { mockBundledJson, unmockBundledJson } from '../../../helpers/bundled-json.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';

const login = { issuer: 'https://login.example.org/oidc/', clientId: 'data-out', scopes: ['openid'] };

beforeEach(() => {
  vi.resetModules();
  const broker = { iss: 'https://broker.example.org/', issues: ['passports'] };
  mockBundledJson(() => [
    { iss: 'https://a.example.org/' },
    broker,
    { iss: 'https://b.example.org/', issues: ['visas'] },
  ]);
  vi.stubEnv('ORGANIZATION_NAME', 'Example Archive');
  vi.stubEnv('ARCHIVE_KIND', 'fega');
});
afterAll(() => {
  vi.unstubAllEnvs();
  unmockBundledJson();
});

test.each([
  ['required', true, undefined],
  ['when-presented', false, login],
])('caches may keep what the service is: credentials %s', async (policy, basicRequired, set) => {
  vi.stubEnv('ARCHIVE_CREDENTIALS', policy);
  vi.stubEnv('LOGIN', set && JSON.stringify(set));
  const { handler } = await import('../../../../lambdas/delivery/about.ts');
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
