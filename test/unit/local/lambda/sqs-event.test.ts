import { describe, expect, it } from 'vitest';
import { succeeded } from '../../../../lib/local/lambda/sqs-event.ts';

const messages = ['a', 'b', 'c'].map((MessageId) => ({ MessageId, ReceiptHandle: MessageId, Body: '', MD5OfBody: '' }));
const done = (reply: unknown) => succeeded(messages, reply).map(({ MessageId }) => MessageId);

describe('a partial batch response', () => {
  it.each([[null], [undefined], [{}], [{ batchItemFailures: [] }], [{ batchItemFailures: null }]])(
    'without failures is a complete success: %j',
    (reply) => {
      expect(done(reply)).toEqual(['a', 'b', 'c']);
    },
  );

  it('keeps what it names', () => {
    expect(done({ batchItemFailures: [{ itemIdentifier: 'b' }] })).toEqual(['a', 'c']);
  });

  it.each(['', null, 'unknown'])('that names %j is a complete failure', (itemIdentifier) => {
    expect(done({ batchItemFailures: [{ itemIdentifier }] })).toEqual([]);
  });
});
