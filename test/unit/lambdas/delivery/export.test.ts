import { readFileSync } from 'node:fs';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';
import type { RequestParts } from '../../../helpers/http-request.ts';

const visa = 'opaque-visa-of-the-test';
const userPublicKey = readFileSync('test/vectors/keys/alice.pub', 'utf8');
const body = { id: 'EGAD00000000001', visaToken: visa, userPublicKey };
let sqs: FauxqsServer;
let handler: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>;
let output: ReturnType<typeof captureOutput>;

beforeAll(async () => {
  sqs = await startFauxqs({ port: 0, logger: false, defaultRegion: 'eu-north-1' });
  vi.stubEnv('AWS_REGION', 'eu-north-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'key');
  vi.stubEnv('AWS_ENDPOINT_URL_SQS', sqs.address);
  vi.stubEnv('ARCHIVE_KIND', 'fega');
  vi.stubEnv('EXPORT_REQUESTS_QUEUE_URL', `${sqs.address}/000000000000/export-requests`);
  ({ handler } = await import('../../../../lambdas/delivery/export.ts'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await sqs.stop();
});
beforeEach(() => {
  sqs.purgeAll();
  sqs.createQueue('export-requests');
  output = captureOutput();
  return () => output.restore();
});

const post = (parts: RequestParts & { isBase64Encoded?: boolean }) =>
  handler(
    gatewayEvent({
      method: 'POST',
      path: '/export/fega',
      headers: { 'content-type': 'application/json', authorization: 'Basic c2VjcmV0OnNlY3JldA==' },
      authorizer: { isAdministrator: 'true' },
      ...parts,
    }),
  );
const messages = () => sqs.inspectQueue('export-requests')?.messages.ready ?? [];

test('one accepted call is one message with the request id of the reply', async () => {
  const reply = await post({ body });
  expect(reply.statusCode).toBe(200);
  expect(reply.headers).toMatchObject({ 'X-Request-Id': 'gateway-request', 'Content-Type': 'application/json' });
  const { requestId } = JSON.parse(reply.body) as { requestId: string };
  expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(messages()).toHaveLength(1);
  const [message] = messages();
  expect(JSON.parse(message?.body ?? '')).toMatchObject({ jwtToken: visa, datasetId: 'EGAD00000000001' });
  expect(message?.messageAttributes).toMatchObject({
    requestId: { StringValue: requestId },
    archiveKind: { StringValue: 'fega' },
    requestedAt: { StringValue: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) },
  });
  const requestedAt = Date.parse(message?.messageAttributes?.requestedAt?.StringValue ?? '');
  expect(Math.abs(Date.now() - requestedAt)).toBeLessThan(60_000);
  expect(output.documents()).toContainEqual(expect.objectContaining({ ExportRequested: 1 }));
  expect(output.documents()).toContainEqual(expect.objectContaining({ exportRequestId: requestId }));
});

test('the log has the outcome of a request, and nothing else of it', async () => {
  await post({ body });
  await post({ body: { ...body, id: 5 } });
  await post({ body: `{"visaToken":${visa}}` });
  expect(output.text()).not.toContain(visa);
  expect(output.text()).not.toContain(userPublicKey.split('\n')[1]);
  expect(output.text()).not.toContain('c2VjcmV0OnNlY3JldA==');
});
