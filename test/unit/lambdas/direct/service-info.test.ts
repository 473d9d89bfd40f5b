import { readFileSync } from 'node:fs';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';

beforeEach(() => {
  vi.resetModules();
  vi.stubEnv('SERVICE_ID', 'org.example.archive.data-out');
  vi.stubEnv('ORGANIZATION_NAME', 'Example Archive');
  vi.stubEnv('ORGANIZATION_URL', 'https://archive.example.org');
});
afterAll(() => {
  vi.unstubAllEnvs();
});

test('the document has what GA4GH service-info 1.0.0 requires, from settings and package.json', async () => {
  const { handler } = await import('../../../../lambdas/direct/service-info.ts');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const reply = await handler(gatewayEvent({ path: '/service-info' }));
  expect(reply.statusCode).toBe(200);
  expect(reply.headers).toMatchObject({ 'Content-Type': 'application/json', 'X-Request-Id': 'gateway-request' });
  expect(JSON.parse(reply.body)).toEqual({
    id: 'org.example.archive.data-out',
    name: 'data-out',
    description: expect.any(String),
    type: { group: 'org.example.archive', artifact: 'data-out', version },
    organization: { name: 'Example Archive', url: 'https://archive.example.org' },
    version,
  });
});

test.each([
  ['where sda-cli signs in', '{"issuer":"https://a/","clientId":"me"}', { client_id: 'me', oidc_uri: 'https://a/' }],
  ['nothing without the setting', undefined, {}],
])('/info says %s', async (_, login, expected) => {
  vi.stubEnv('LOGIN', login);
  const { handler } = await import('../../../../lambdas/direct/service-info.ts');
  expect(JSON.parse((await handler({ ...gatewayEvent({ path: '/info' }), resource: '/info' })).body)).toEqual(expected);
});
