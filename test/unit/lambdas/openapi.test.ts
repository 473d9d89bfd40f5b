import { afterEach, expect, test, vi } from 'vitest';
import { mockBundledJson } from '../../helpers/bundled-json.ts';
import { gatewayEvent } from '../../helpers/gateway-event.ts';
import { OpenApi } from '../../helpers/openapi.ts';

afterEach(() => {
  vi.resetModules();
});

test.each(['proxy', 'data-out'] as const)('%s: the document with the address that the caller used', async (name) => {
  const api = OpenApi.read(name);
  mockBundledJson(() => api.document);
  const { handler } = await import(`../../../lambdas/${name}/openapi.ts`);
  const event = gatewayEvent({ path: '/openapi.json' });
  const requestContext = { ...event.requestContext, domainName: 'api.example.org', path: '/v1/openapi.json' };
  const { statusCode, headers, body } = await handler({ ...event, resource: '/openapi.json', requestContext });
  await api.check({ method: 'GET', path: '/openapi.json', status: statusCode, headers: Object.entries(headers), body });
  expect(JSON.parse(body)).toEqual({ ...api.document, servers: [{ url: 'https://api.example.org/v1' }] });
});
