import { setTimeout as delay } from 'node:timers/promises';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { streamedHandler } from '../../../lambdas/shared/http.ts';
import type { ReplyBody } from '../../../lib/service/http/reply.ts';

const piece = 65_536;

async function* pieces(count: number, after?: () => never): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < count; sent += 1) yield Buffer.alloc(piece, 'x');
  // The pieces before it have gone out.
  await delay(10);
  after?.();
}

const bodies: Readonly<Record<string, () => ReplyBody>> = {
  whole: () => pieces(10),
  empty: () => pieces(0),
  text: () => 'a problem document',
  breaks: () =>
    pieces(10, () => {
      throw new RangeError('a segment does not hold');
    }),
  'breaks-at-once': () =>
    pieces(0, () => {
      throw new RangeError('a segment does not hold');
    }),
  endless: () => pieces(Number.MAX_SAFE_INTEGER),
};

/** The code of our functions around a body of each kind. */
export const handler = streamedHandler('Bearer', async ({ path }) => ({
  status: 200,
  headers: { 'X-Pid': String(process.pid), 'Content-Length': String(10 * piece) },
  body: bodies[path]?.() ?? '',
}));

/** What ours must not do. */
export const destroying = awslambda.streamifyResponse<APIGatewayProxyEvent>(async (_event, responseStream) => {
  const stream = awslambda.HttpResponseStream.from(responseStream, { statusCode: 200, headers: {} });
  stream.write('x');
  await delay(10);
  stream.destroy(new Error('broken off'));
  throw new Error('the reply broke off');
});
