import { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context, StreamifyHandler } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { mockBundledJson } from '../../../helpers/bundled-json.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';
import type { RequestParts } from '../../../helpers/http-request.ts';
import { type OutboxSurroundings, outboxSurroundings } from '../../../helpers/outbox-function.ts';

/** A reply as the runtime would stream it: its first piece, then the bytes. */
class ReplyStream extends Writable {
  metadata: Record<string, unknown> | undefined;
  text = '';
  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error) => void): void {
    this.text += chunk.toString('utf8');
    callback(this.metadata ? undefined : new Error('bytes before the status line'));
  }
}

let world: OutboxSurroundings;
let visa: string;
let handler: StreamifyHandler<APIGatewayProxyEvent>;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  world = await outboxSurroundings();
  visa = await world.issuer.visa();
  mockBundledJson(() => [world.issuer.entry]);
  vi.stubGlobal('awslambda', {
    streamifyResponse: (inner: unknown) => inner,
    HttpResponseStream: {
      from: (stream: ReplyStream, metadata: Record<string, unknown>) => Object.assign(stream, { metadata }),
    },
  });
  ({ handler } = await import('../../../../lambdas/proxy/files.ts'));
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await world.stop();
});
beforeEach(() => {
  output = captureOutput();
  return () => output.restore();
});

async function list(parts: RequestParts = {}) {
  const stream = new ReplyStream();
  const headers = { 'proxy-authorization': `Bearer ${visa}` };
  const authorizer = { isAdmitted: 'true' };
  const event = gatewayEvent({ query: { inbox: 'false' }, headers, authorizer, ...parts });
  const outcome = await Promise.resolve(
    handler(
      event,
      stream as unknown as awslambda.HttpResponseStream,
      { getRemainingTimeInMillis: () => 29_000 } as Context,
    ),
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { stream, outcome };
}

test('the listing is streamed after its status and headers', async () => {
  await world.stage('researcher-1', 'a.c4gh', 'content');
  const { stream, outcome } = await list();
  expect(outcome).toBeUndefined();
  expect(stream.metadata).toMatchObject({
    statusCode: 200,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Request-Id': 'gateway-request' },
  });
  expect(stream.writableFinished).toBe(true);
  expect(JSON.parse(stream.text)).toMatchObject({ files: [{ fileName: 'a.c4gh', size: 7 }], page: '0' });
  const recipients = [outboxPrefix({ iss: world.issuer.iss, sub: 'researcher-1' })];
  expect(output.documents()).toContainEqual(
    expect.objectContaining({ message: 'listed', requestId: 'gateway-request', recipients, page: 0, rows: 1 }),
  );
  for (const part of visa.split('.')) expect(output.text()).not.toContain(part);
});

test.each([
  ['no visa', { headers: {} }, 401],
  ['no inbox', { query: {} }, 400],
])('%s: a whole problem document', async (_, parts, status) => {
  const { stream, outcome } = await list(parts);
  expect(outcome).toBeUndefined();
  expect(stream.metadata).toMatchObject({
    statusCode: status,
    headers: { 'Content-Type': 'application/problem+json' },
  });
  expect(JSON.parse(stream.text)).toMatchObject({ status, requestId: 'gateway-request' });
  expect(output.documents()).toContainEqual(expect.objectContaining({ message: 'refused', status }));
  expect(output.text()).not.toContain(visa);
});
