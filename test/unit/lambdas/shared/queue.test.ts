import { ChangeMessageVisibilityCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';

const queueUrl = 'https://sqs.example/123456789012/queue';

let log: ReturnType<typeof captureOutput>;
let changes: unknown[];
let visibility: () => Promise<unknown>;
beforeEach(() => {
  log = captureOutput();
  changes = [];
  visibility = () => Promise.resolve({});
});
afterEach(() => log.restore());

const sqs = {
  send: (command: unknown) => {
    if (!(command instanceof ChangeMessageVisibilityCommand)) throw new Error('only visibility may change');
    changes.push(command.input);
    return visibility();
  },
};

function handler(handle: (body: string) => Promise<void>) {
  return queueHandler({
    sqs,
    queueUrls: [queueUrl],
    stage: 'stage',
    handle: oneByOne(({ body }) => handle(body)),
  });
}

test('a message that fails is reported alone, the others are worked on', async () => {
  const seen: string[] = [];
  const messages = ['a', 'b', 'c'].map((body) => sqsRecord({ body, messageId: `id-${body}` }));
  const result = await handler(async (body) => {
    seen.push(body);
    if (body === 'b') throw unavailable('the database is resuming');
  })(sqsEvent(...messages), lambdaContext());
  expect(result).toEqual({ batchItemFailures: [{ itemIdentifier: 'id-b' }] });
  expect(seen).toEqual(['a', 'b', 'c']);
});

const atOnce = unavailable('unfinished', { retryAfterSeconds: 0 });
test.each([
  [1, 10, new Error('no')],
  [4, 900, new Error('no')],
  [5, 900, new Error('no')],
  [50, 900, new Error('no')],
  [40, 0, atOnce],
])('received %i times: it comes back after %i s, by %s', async (received, VisibilityTimeout, error) => {
  const failing = handler(() => Promise.reject(error));
  await failing(sqsEvent(sqsRecord({ body: 'x', messageId: 'm', received })), lambdaContext());
  expect(changes).toEqual([{ QueueUrl: queueUrl, ReceiptHandle: 'receipt of m', VisibilityTimeout }]);
});

test('the report does not depend on the visibility timeout', async () => {
  visibility = () => Promise.reject(new Error('throttled'));
  const failing = handler(() => Promise.reject(new Error('no')));
  const event = sqsEvent(sqsRecord({ body: 'x', messageId: 'm' }), sqsRecord({ body: 'y', messageId: 'n' }));
  expect(await failing(event, lambdaContext())).toEqual({
    batchItemFailures: [{ itemIdentifier: 'm' }, { itemIdentifier: 'n' }],
  });
});

test('a message goes back to the queue that it came from', async () => {
  const failing = queueHandler({
    sqs,
    queueUrls: ['https://sqs.example/123456789012/file-queue', queueUrl],
    stage: 'stage',
    handle: oneByOne(() => Promise.reject(new Error('no'))),
  });
  const other = { ...sqsRecord({ body: 'y' }), eventSourceARN: 'arn:aws:sqs:eu-north-1:123456789012:file-queue' };
  await failing(sqsEvent(sqsRecord({ body: 'x' }), other), lambdaContext());
  expect(changes).toMatchObject([{ QueueUrl: queueUrl }, { QueueUrl: 'https://sqs.example/123456789012/file-queue' }]);
});

test('metric and log say what failed, and quote nothing of the message', async () => {
  const error = Object.assign(unavailable('the database is resuming'), { payload: 'secret-visa' });
  const failing = handler(() => Promise.reject(error));
  await failing(
    sqsEvent(sqsRecord({ body: '{"jwtToken":"secret-visa"}', messageId: 'm', received: 2 })),
    lambdaContext(),
  );
  expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'stage' }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({
      level: 'ERROR',
      message: 'message failed',
      messageId: 'm',
      received: 2,
      code: 'temporarily_unavailable',
      error: 'DataOutError',
      detail: 'the database is resuming',
    }),
  );
  expect(log.text()).not.toContain('secret-visa');
});

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
test.each([
  ['another message', { fileId: 7, jwtToken: 'secret-visa' }, { requestId }, { requestId }],
  ['no message', 'secret-visa', { requestId: 'secret-visa' }, { requestId: 'm' }],
])('the log of a failure names no more than ids: %s', async (_, body, attributes, expected) => {
  const failing = handler(() => Promise.reject(new Error('no')));
  await failing(sqsEvent(sqsRecord({ body: JSON.stringify(body), attributes, messageId: 'm' })), lambdaContext());
  const [line = {}] = log.documents().filter(({ message }) => message === 'message failed');
  expect(line).toMatchObject({ ...expected, messageId: 'm' });
  expect(line).not.toHaveProperty('fileId');
  expect(log.text()).not.toContain('secret-');
});
