import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { mockBundledJson } from '../../../helpers/bundled-json.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';
import type { RequestParts } from '../../../helpers/http-request.ts';
import { OpenApi } from '../../../helpers/openapi.ts';
import { type OutboxSurroundings, outboxSurroundings } from '../../../helpers/outbox-function.ts';

const root = '/ga4gh/drs/v1';
const object = `${root}/objects/{object_id}`;
const api = OpenApi.read('data-out');
let world: OutboxSurroundings;
let visa: string;
let handler: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  world = await outboxSurroundings();
  visa = await world.issuer.visa();
  const variables = {
    DESCRIBE_FILE_FUNCTION_ARN: 'arn:aws:lambda:eu-north-1:111122223333:function:describe',
    SERVICE_ID: 'org.example.data-out',
    ORGANIZATION_NAME: 'Example Archive',
    ORGANIZATION_URL: 'https://archive.example.org',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  mockBundledJson(() => [world.issuer.entry]);
  ({ handler } = await import('../../../../lambdas/data-out/drs.ts'));
});
afterAll(() => world.stop());
beforeEach(() => {
  output = captureOutput();
  return () => output.restore();
});

/** Call a route; the reply is what the OpenAPI document says, with the header that the gateway renames. */
async function call(resource: string, parts: RequestParts = {}): Promise<APIGatewayProxyResult> {
  const path = resource.replace('{object_id}', 'EGAF1').replace('{access_id}', 'plaintext');
  const pathParameters = { object_id: 'EGAF1', access_id: 'plaintext' };
  const event = gatewayEvent({ path, pathParameters, ...parts });
  const requestContext = { ...event.requestContext, domainName: 'data.example.org', path: `/v1${path}` };
  const reply = await handler({ ...event, resource, requestContext });
  const headers = Object.entries(reply.headers ?? {}).map(
    ([name, value]) => [name.replace(/^WWW-/, 'x-amzn-Remapped-WWW-'), String(value)] as const,
  );
  await api.check({ method: event.httpMethod, path, status: reply.statusCode, headers, body: reply.body });
  return reply;
}

test('what needs no credentials', async () => {
  expect(JSON.parse((await call(`${root}/service-info`)).body)).toMatchObject({ id: 'org.example.data-out.drs' });
  const { body } = await call(object, { method: 'OPTIONS' });
  expect(JSON.parse(body)).toMatchObject({ passport_auth_issuers: [world.issuer.iss] });
});

test.each([object, `${object}/access/{access_id}`])('%s: errors are DRS’s own, with the stable code', async (route) => {
  const json = { 'Content-Type': 'application/json' };
  const posted = (passports: unknown) => ({ method: 'POST', body: { passports }, headers: json });
  const cases: [RequestParts, number, string][] = [
    [posted('x'), 400, 'invalid_request'],
    [posted([]), 401, 'unauthenticated'],
    [posted(['a.b.c']), 401, 'unauthenticated'],
    // The database of this test refuses to answer.
    [posted([visa]), 500, 'internal_error'],
    [{ headers: { authorization: `Bearer ${visa}` } }, 500, 'internal_error'],
  ];
  for (const [parts, status, code] of cases) {
    const reply = await call(route, parts);
    expect(reply.statusCode).toBe(status);
    expect(JSON.parse(reply.body)).toMatchObject({ status_code: status, code, requestId: 'gateway-request' });
  }
  for (const part of visa.split('.')) expect(output.text()).not.toContain(part);
});
