import { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { HttpReply, ReplyBody } from '../../../../lib/service/http/reply.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';

/** Lambda's response stream: status and headers go out with the first write, even an empty one. */
class LambdaStream extends Writable {
  readonly sent: string[] = [];
  metadata: unknown;
  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    if (this.sent.length === 0) this.sent.push(JSON.stringify(this.metadata));
    if (chunk.length > 0) this.sent.push(chunk.toString());
    callback();
  }
}

let output: ReturnType<typeof captureOutput>;
beforeAll(() => {
  vi.stubGlobal('awslambda', {
    streamifyResponse: (inner: unknown) => inner,
    HttpResponseStream: {
      from: (stream: LambdaStream, metadata: unknown) => Object.assign(stream, { metadata }),
    },
  });
});
afterAll(() => vi.unstubAllGlobals());
beforeEach(() => {
  output = captureOutput();
  return () => output.restore();
});

async function replyWith(body: ReplyBody): Promise<LambdaStream> {
  const { streamedHandler } = await import('../../../../lambdas/shared/http.ts');
  const handler = streamedHandler(
    'Bearer',
    async (): Promise<HttpReply<ReplyBody>> => ({ status: 200, headers: { A: 'b' }, body }),
  ) as unknown as (event: APIGatewayProxyEvent, stream: LambdaStream, context: Context) => Promise<void>;
  const stream = new LambdaStream();
  await handler(gatewayEvent({}), stream, { getRemainingTimeInMillis: () => 29_000 } as Context);
  return stream;
}

const head = '{"statusCode":200,"headers":{"A":"b"}}';
async function* pieces(...all: readonly string[]): AsyncGenerator<string> {
  yield* all;
}

test.each([
  ['no piece at all', pieces(), []],
  ['an empty text', '', []],
  ['pieces', pieces('a', '', 'b'), ['a', 'b']],
])('status and headers go out once and first, with %s', async (_, body, sent) => {
  const stream = await replyWith(body);
  expect(stream.sent).toEqual([head, ...sent]);
  expect(stream.writableFinished).toBe(true);
});

test('a body that fails ends in a broken reply, not in a short one', async () => {
  async function* broken(): AsyncGenerator<string> {
    yield 'a';
    throw new RangeError('no more');
  }
  await expect(replyWith(broken())).rejects.toThrow('the reply broke off');
  expect(output.documents()).toContainEqual(expect.objectContaining({ message: 'reply broke off', detail: 'no more' }));
});
