import { randomUUID } from 'node:crypto';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { generateKeyPair, openHeader, splitContainer } from '../../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import {
  areQueuesEmpty,
  type Delivery,
  deliveryOf,
  forceVisible,
  unfinishedUploads,
} from '../../helpers/broken-calls.ts';
import { Service, until } from '../../helpers/service.ts';

const datasetId = 'EGAD00000000001';
const files = [
  { fileId: 'EGAF00000000001', path: 'small.vcf', size: 5000 },
  { fileId: 'EGAF00000000002', path: 'large.bam', size: 8_600_000 },
] as const;
const [older, newer] = [generateKeyPair(), generateKeyPair()];
let service: Service;
let bodies: readonly Buffer[];

beforeAll(async () => {
  service = await Service.shared();
  for (const { path, size, fileId } of files) await service.archive(datasetId, path, size, fileId);
  await service.setDataset(datasetId, 'released');
  const paths = await service.sql('select archive_file_path from sda.files order by stable_id');
  bodies = await Promise.all(paths.map(([path]) => service.object('ArchiveBucketName', path ?? '')));
});
afterAll(() => service?.stop());

let subject: string;
let undo: () => void;
beforeEach(() => {
  subject = randomUUID();
  undo = () => {};
});
afterEach(() => undo());

describe('redelivered and duplicated messages: the outbox ends right, each event is recorded once', () => {
  test('the export request and every file export arrive twice, at the same time', async () => {
    const requestId = randomUUID();
    const { connection } = service;
    // A queue may deliver a message twice. Here it does so with every message of the consumer.
    undo = service.engine.traffic.addFault(({ caller, action, input }) => {
      if (caller !== 'consume-export' || action !== 'SendMessageBatch') return undefined;
      const { QueueUrl, Entries } = input as { QueueUrl: string; Entries: { MessageBody: string }[] };
      return { action: () => Promise.all(Entries.map(({ MessageBody }) => service.enqueue(QueueUrl, MessageBody))) };
    });
    const MessageBody = JSON.stringify({
      jwtToken: await service.visa({ subject, datasetId }),
      publicKey: Buffer.from(newer.publicKey).toString('base64'),
      datasetId,
    });
    const { ExportRequestsQueueUrl } = connection.outputs;
    const before = service.calls('stage-file rds-data ExecuteStatement');
    await Promise.all([1, 2].map(() => service.enqueue(ExportRequestsQueueUrl, MessageBody, { requestId })));
    await ended([requestId]);
    // One request at least made two messages of each of two files. Each takes two statements, but messages of small files
    // may share them.
    expect(service.calls('stage-file rds-data ExecuteStatement') - before).toBeGreaterThanOrEqual(6);
    await expectOutbox(requestId, newer.privateKey);
    expect(await staged(requestId)).toEqual(files.map(({ fileId }) => fileId));
  });

  test('a message becomes visible again while it is still worked on', async () => {
    const deliveries = new Set<string>();
    const slow = new Set<string | undefined>();
    undo = onDelivery((call, delivery) => {
      deliveries.add(`${delivery.fileId} ${delivery.received}`);
      if (!isWrite(call) || slow.has(delivery.fileId)) return undefined;
      slow.add(delivery.fileId);
      // The first delivery stops before its write until the second one has written.
      return {
        action: async () => {
          await forceVisible(service, delivery);
          await until(
            async () => ((await staged(delivery.requestId)).includes(delivery.fileId ?? '') ? true : undefined),
            'the second delivery',
          );
        },
      };
    });
    const requestId = await exported(newer.publicKey);
    await ended([requestId]);
    expect([...deliveries].sort()).toEqual(files.flatMap(({ fileId }) => [`${fileId} 1`, `${fileId} 2`]));
    await expectOutbox(requestId, newer.privateKey);
    expect(await staged(requestId)).toEqual(files.map(({ fileId }) => fileId));
  });
});

/** Which of two requests may write at which time. */
type Order = 'the older one ends last' | 'the newer one ends last' | 'both write at once';

describe('two exports of one dataset for one recipient at once: the newer one stays, whole', () => {
  const orders: Order[] = ['the older one ends last', 'the newer one ends last', 'both write at once'];
  const places = ['nothing existed', 'a container existed'] as const;
  test.each(places.flatMap((place) => orders.map((order) => [order, place] as const)))(
    'two keys, %s; %s',
    async (order, place) => {
      if (place === 'a container existed') await ended([await exported(generateKeyPair().publicKey)]);
      const newest = await exportTwice(order, older.publicKey, newer.publicKey);
      await expectOutbox(newest, newer.privateKey, older.privateKey);
    },
  );

  test.each(orders)('one key, %s', async (order) => {
    const newest = await exportTwice(order, newer.publicKey, newer.publicKey);
    await expectOutbox(newest, newer.privateKey);
  });

  /** @returns id of the newer request, when both have ended */
  async function exportTwice(order: Order, olderKey: Uint8Array, newerKey: Uint8Array): Promise<string> {
    const requests: string[] = [];
    const arrived = new Set<string>();
    /** Both have looked at the outbox before one of them writes. */
    const turn = (fileId: string | undefined, own: number) => async () => {
      if (!arrived.has(`${fileId} ${own === 0 ? 1 : 0}`)) return undefined;
      const first = { 'the older one ends last': 1, 'the newer one ends last': 0, 'both write at once': own }[order];
      return own === first || (await staged(requests[first] ?? '')).includes(fileId ?? '') || undefined;
    };
    undo = onDelivery((call, { requestId, fileId, received }) => {
      const own = requests.indexOf(requestId);
      if (!isWrite(call) || received > 1 || arrived.has(`${fileId} ${own}`)) return undefined;
      arrived.add(`${fileId} ${own}`);
      return { action: () => until(turn(fileId, own), 'its turn', 20_000) };
    });
    for (const key of [olderKey, newerKey]) requests.push(await exported(key));
    await ended(requests);
    expect(arrived.size).toBe(4);
    return requests[1] ?? '';
  }
});

/** What makes a container visible. */
const isWrite = ({ action }: AwsCall) => action === 'PutObject' || action === 'CompleteMultipartUpload';

function onDelivery(rule: (call: AwsCall, delivery: Delivery) => Fault | undefined): () => void {
  return service.engine.traffic.addFault((call) => {
    const delivery = call.caller === 'stage-file' ? deliveryOf(service, call) : undefined;
    return delivery && rule(call, delivery);
  });
}

async function exported(publicKey: Uint8Array): Promise<string> {
  return service.exported({ id: datasetId, visa: await service.visa({ subject, datasetId }), publicKey });
}

async function ended(requestIds: readonly string[]): Promise<void> {
  const accepted = async () => {
    for (const id of requestIds) if ((await service.audit(id)).length === 0) return undefined;
    return (await areQueuesEmpty(service)) || undefined;
  };
  await until(accepted, 'the exports to end');
}

/** Files whose staging is recorded, one for each row. */
async function staged(requestId: string): Promise<readonly string[]> {
  const rows = await service.audit(requestId);
  return rows.flatMap(({ event, fileId }) => (event === 'staged' && fileId ? [fileId] : [])).sort();
}

/** The outbox holds the containers of this request and nothing else, and no message was given up. */
async function expectOutbox(requestId: string, privateKey: Uint8Array, notFor?: Uint8Array): Promise<void> {
  const keys = await service.outboxKeys(subject);
  expect(keys).toEqual(files.map(({ fileId, path }) => `${service.prefix(subject)}/${fileId}-${path}.c4gh`));
  for (const [at, key] of keys.entries()) {
    const Bucket = service.connection.outputs.OutboxBucketName;
    const { Metadata } = await service.s3.send(new HeadObjectCommand({ Bucket, Key: key }));
    expect(Metadata?.['request-id']).toBe(requestId);
    const container = await service.object('OutboxBucketName', key);
    const body = bodies[at] as Buffer;
    const { header } = await splitContainer(once(container));
    expect(openHeader(header, [privateKey]).dataKeys).toHaveLength(1);
    if (notFor) expect(() => openHeader(header, [notFor])).toThrow();
    expect(container.length).toBe(header.length + body.length);
    expect(container.subarray(-body.length).equals(body)).toBe(true);
  }
  // A delivery may still be aborting its upload when another one has settled its message.
  await until(
    async () => ((await unfinishedUploads(service)).length === 0 ? true : undefined),
    'every upload to be finished or given up',
  );
  const { FileExportsDeadLetterQueueUrl, SmallFileExportsDeadLetterQueueUrl } = service.connection.outputs;
  for (const url of [FileExportsDeadLetterQueueUrl, SmallFileExportsDeadLetterQueueUrl]) {
    expect(await service.queueDepth(url)).toBe(0);
  }
}

async function* once(bytes: Buffer) {
  yield new Uint8Array(bytes);
}
