import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { mockBundledJson } from '../../../helpers/bundled-json.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';
import type { RequestParts } from '../../../helpers/http-request.ts';
import { type OutboxSurroundings, outboxSurroundings } from '../../../helpers/outbox-function.ts';

const name = 'EGAF1-sample.bam.c4gh';
let world: OutboxSurroundings;
let visa: string;
let handler: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  world = await outboxSurroundings();
  visa = await world.issuer.visa();
  await world.stage('researcher-1', name, 'header and body');
  mockBundledJson(() => [world.issuer.entry]);
  ({ handler } = await import('../../../../lambdas/proxy/stream.ts'));
});
afterAll(() => world.stop());
beforeEach(() => {
  output = captureOutput();
  return () => output.restore();
});

const stream = (parts: RequestParts = {}) =>
  handler(
    gatewayEvent({
      path: `/stream/${name}`,
      pathParameters: { file: name },
      headers: { 'proxy-authorization': `Bearer ${visa}` },
      authorizer: { isAdmitted: 'true' },
      ...parts,
    }),
  );

test('the file’s bytes are read from the outbox, whole or in part, where the reply leads', async () => {
  const reply = await stream();
  expect(reply.statusCode).toBe(307);
  const location = String(reply.headers?.Location);
  const whole = await fetch(location);
  expect(await whole.text()).toBe('header and body');
  expect(new URL(location).searchParams.get('response-content-disposition')).toBe(`attachment; filename="${name}"`);
  const part = await fetch(location, { headers: { Range: 'bytes=7-9' } });
  expect(part.status).toBe(206);
  expect(await part.text()).toBe('and');
});

test.each([
  ['no visa', { headers: {} }, 401, 'unauthenticated'],
  ['no such file', { pathParameters: { file: 'nothing.c4gh' } }, 404, 'not_found'],
])('%s: a problem document', async (_, parts, status, code) => {
  const reply = await stream(parts);
  expect(reply.statusCode).toBe(status);
  expect(reply.headers).toMatchObject({
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'X-Request-Id': 'gateway-request',
  });
  expect(JSON.parse(reply.body)).toMatchObject({ status, code, requestId: 'gateway-request' });
  const head = await stream({ ...parts, method: 'HEAD' });
  expect(head).toMatchObject({ statusCode: status, body: '' });
});

test('neither visa nor presigned URL is logged', async () => {
  const reply = await stream();
  await stream({ headers: { 'proxy-authorization': `Bearer ${visa}x` } });
  const recipients = [outboxPrefix({ iss: world.issuer.iss, sub: 'researcher-1' })];
  const granted = {
    message: 'stream granted',
    requestId: 'gateway-request',
    method: 'GET',
    fileName: name,
    recipients,
  };
  expect(output.documents()).toEqual([
    expect.objectContaining(granted),
    expect.objectContaining({ message: 'answered', status: 307 }),
    expect.objectContaining({ message: 'refused', status: 401 }),
  ]);
  for (const part of visa.split('.')) expect(output.text()).not.toContain(part);
  expect(output.text()).not.toContain(new URL(String(reply.headers?.Location)).search);
});
