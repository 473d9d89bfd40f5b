import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sqsClient } from '../../../../lib/service/stores/clients.ts';
import { deliveriesQueue, exportRequestsQueue, fileExportsQueue } from '../../../../lib/service/stores/queues.ts';
import {
  brokenConnection,
  httpHandler,
  type SdkReply,
  scripted,
  testClient,
  textOf,
} from '../../../helpers/http-handler.ts';

let server: FauxqsServer;
let client: SQSClient;
let queueUrl: string;
beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  client = sqsClient({ ...testClient, endpoint: server.address });
});
afterAll(() => server.stop());
beforeEach(() => {
  server.purgeAll();
  queueUrl = server.createQueue('a-queue', { region: testClient.region }).queueUrl;
});

async function received() {
  const all = [];
  for (;;) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
    );
    if (Messages.length === 0) return all;
    all.push(...Messages);
  }
}

const elsewhere = 'https://sqs.eu-north-1.amazonaws.com/1/q';

describe('exportRequestsQueue', () => {
  const request = {
    requestId: '6f2c3d1e-0000-4000-8000-000000000001',
    requestedAt: new Date('2026-11-21T09:59:00.123Z'),
    archiveKind: 'fega',
    message: { jwtToken: 'a.b.c', publicKey: 'key', datasetId: 'EGAD1' },
  };

  it('publishes one message, in the form of the field, with its three attributes', async () => {
    await exportRequestsQueue({ client, queueUrl }).publish(request);
    const messages = await received();
    expect(messages).toHaveLength(1);
    expect(JSON.parse(messages[0]?.Body ?? '')).toEqual({ jwtToken: 'a.b.c', publicKey: 'key', datasetId: 'EGAD1' });
    expect(messages[0]?.MessageAttributes).toMatchObject({
      requestId: { DataType: 'String', StringValue: '6f2c3d1e-0000-4000-8000-000000000001' },
      requestedAt: { DataType: 'String', StringValue: '2026-11-21T09:59:00.123Z' },
      archiveKind: { DataType: 'String', StringValue: 'fega' },
    });
  });

  it.each([
    ['the queue is missing', [refusal('com.amazonaws.sqs#QueueDoesNotExist')]],
    ['the grant is missing', [refusal('com.amazonaws.sqs#AccessDeniedException')]],
    ['SQS throttles', [refusal('com.amazonaws.sqs#ThrottlingException')]],
    ['SQS is down', [{ status: 503, body: '{}' }]],
    ['there is no answer', [brokenConnection()]],
  ])('says "come back" and nothing of the visa when %s', async (_name, replies) => {
    const { handler } = scripted(replies);
    const failing = exportRequestsQueue({ client: inProcess(handler), queueUrl: elsewhere });
    const failure = await failing.publish(request).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'temporarily_unavailable' });
    expect(String(failure)).not.toContain('a.b.c');
  });
});

describe('deliveriesQueue', () => {
  it('sends the id of each request, and nothing else', async () => {
    const ids = ['6f2c3d1e-0000-4000-8000-000000000001', '6f2c3d1e-0000-4000-8000-000000000002'];
    await deliveriesQueue({ client, queueUrl }).send(ids);
    const bodies = (await received()).map(({ Body }) => Body).sort();
    expect(bodies).toEqual(ids.map((id) => `{"requestId":"${id}"}`));
  });

  it('says "come back" when the queue does not take them in time', async () => {
    const handler = httpHandler(() => ({ status: 503, body: '{}' }));
    let now = 0;
    const failing = deliveriesQueue({
      client: inProcess(handler),
      queueUrl: elsewhere,
      now: () => now,
      sleep: async (milliseconds) => {
        now += milliseconds;
      },
    });
    await expect(failing.send(['6f2c3d1e-0000-4000-8000-000000000001'])).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
  });
});

describe('fileExportsQueue', () => {
  const requestId = '6f2c3d1e-0000-4000-8000-000000000001';
  const recipient = 'a'.repeat(64);
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `EGAF${n}`);
  const fileIds = (bodies: readonly (string | undefined)[]) =>
    bodies.map((body) => JSON.parse(body ?? '').fileId as string).sort();

  it.each([0, 11, 137])('sends %i messages, each once, of ids alone', async (count) => {
    await fileExportsQueue({ client, queueUrl }).send(requestId, ids(count), recipient);
    const found = await received();
    const sent = ids(count).map((fileId) => JSON.stringify({ requestId, fileId }));
    expect(found.map(({ Body }) => Body).sort()).toEqual(sent.sort());
  });

  it('names the recipient as the message group, in batches of ten', async () => {
    const groups: unknown[] = [];
    const handler = httpHandler((request) => {
      const { Entries: entries } = JSON.parse(textOf(request)) as { Entries: Record<string, string>[] };
      groups.push([entries.length, ...new Set(entries.map(({ MessageGroupId }) => MessageGroupId))]);
      return reply(
        entries.map(({ Id = '' }) => Id),
        [],
      );
    });
    await fileExportsQueue({ client: inProcess(handler), queueUrl: elsewhere }).send(requestId, ids(11), recipient);
    expect(groups.sort()).toEqual([
      [1, recipient],
      [10, recipient],
    ]);
  });

  /** A queue that answers each batch by `answer`, and counts what it took. */
  function queue(answer: (ids: readonly string[], call: number) => SdkReply | Error) {
    const taken: string[] = [];
    const pauses: number[] = [];
    let calls = 0;
    let now = 0;
    const handler = httpHandler((request) => {
      const { Entries: entries } = JSON.parse(textOf(request));
      const ids: string[] = entries.map(({ Id }: { Id: string }) => Id);
      calls += 1;
      const reply = answer(ids, calls);
      if (reply instanceof Error) throw reply;
      const accepted = new Set(JSON.parse(reply.body ?? '{}').Successful?.map(({ Id }: { Id: string }) => Id));
      taken.push(
        ...entries
          .filter(({ Id }: { Id: string }) => accepted.has(Id))
          .map(({ MessageBody }: { MessageBody: string }) => MessageBody),
      );
      return reply;
    });
    const fileExports = fileExportsQueue({
      client: inProcess(handler),
      queueUrl: elsewhere,
      now: () => now,
      random: () => 0.5,
      sleep: async (milliseconds) => {
        pauses.push(milliseconds);
        now += milliseconds;
      },
    });
    return { fileExports, taken, pauses, calls: () => calls };
  }
  const reply = (successful: readonly string[], failed: readonly string[], senderFault = false): SdkReply => ({
    status: 200,
    body: JSON.stringify({
      Successful: successful.map((Id) => ({ Id, MessageId: Id, MD5OfMessageBody: '' })),
      Failed: failed.map((Id) => ({ Id, Code: 'InternalError', SenderFault: senderFault })),
    }),
  });

  it('sends again only what the queue did not take', async () => {
    const { fileExports, taken, pauses, calls } = queue((ids, call) =>
      call < 3 ? reply(ids.slice(0, 3), ids.slice(3)) : reply(ids, []),
    );
    await fileExports.send(requestId, ids(10), recipient);
    expect(fileIds(taken)).toEqual(ids(10));
    expect(calls()).toBe(3);
    expect(pauses).toEqual([100, 200]);
  });

  it('sends a batch again whose answer was lost', async () => {
    const { fileExports, taken } = queue((ids, call) => (call === 1 ? brokenConnection() : reply(ids, [])));
    await fileExports.send(requestId, ids(2), recipient);
    expect(fileIds(taken)).toEqual(['EGAF0', 'EGAF1']);
  });

  it('does not repeat what is our own fault', async () => {
    const { fileExports, calls } = queue((ids) => reply([], ids, true));
    await expect(fileExports.send(requestId, ids(1), recipient)).rejects.toThrow('InternalError');
    expect(calls()).toBe(1);
  });
});

function refusal(type: string): SdkReply {
  return { status: 400, body: JSON.stringify({ __type: type, message: 'no' }) };
}

function inProcess(requestHandler: ReturnType<typeof httpHandler>): SQSClient {
  return new SQSClient({ ...testClient, maxAttempts: 1, md5: false, requestHandler });
}
