import { createHash } from 'node:crypto';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import type { Service } from './service.ts';

/** Bytes of a header with one packet for one reader, as exports write it. */
const headerBytes = 124;

/** A file of a request that is settled, as its row says it. */
export interface SettledFile {
  readonly fileId: string;
  /** Name in the outbox; `undefined`: the file ended without a container. */
  readonly name?: string;
  readonly state: 'staged' | 'rejected' | 'given_up' | 'withdrawn';
  readonly reason?: string;
}

/**
 * Write an accepted request and its files into the rows, as far as they are missing, and send it to be settled. `name`s are in the
 * outbox already: size, checksum and header are read there.
 */
export async function settleRequest(
  service: Service,
  request: {
    readonly requestId: string;
    readonly subject: string;
    readonly datasetId: string;
    readonly keyFingerprint: string;
  },
  files: readonly SettledFile[],
): Promise<void> {
  const { requestId, subject, datasetId, keyFingerprint } = request;
  const recipient = service.prefix(subject);
  for (const { fileId, name, state, reason } of files) {
    const key = name === undefined ? undefined : `${recipient}/${name}`;
    const container = key === undefined ? undefined : await service.object('OutboxBucketName', key);
    const header = container && createHash('sha256').update(container.subarray(0, headerBytes)).digest('hex');
    const crc = key && (await crcOf(service, key));
    const values = [requestId, fileId, state, reason, key, container?.length, crc, header].map((value) =>
      value === undefined ? 'null' : `'${value}'`,
    );
    await service.sql(
      `insert into data_out.request_files
         (request_id, file_id, state, reason, outbox_key, bytes, crc64nvme, header_sha256)
       values (${values.join(', ')}) on conflict do nothing`,
    );
  }
  await service.sql(
    `insert into data_out.requests
       (request_id, requested_at, archive_kind, kind, dataset_id, recipient, key_fingerprint, state, files)
     values ('${requestId}', now(), 'fega', 'dataset', '${datasetId}', '${recipient}', '${keyFingerprint}', 'accepted',
       ${files.length}) on conflict do nothing`,
  );
  await service.enqueue(service.connection.outputs.DeliveriesQueueUrl, JSON.stringify({ requestId }));
}

async function crcOf(service: Service, Key: string): Promise<string | undefined> {
  const Bucket = service.connection.outputs.OutboxBucketName;
  return (await service.s3.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))).ChecksumCRC64NVME;
}
