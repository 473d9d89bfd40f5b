import { randomBytes } from 'node:crypto';
import { outputs } from '../../../contract/outputs.ts';
import { errorName } from '../../../service/stores/aws-failure.ts';
import { s3Client } from '../../../service/stores/clients.ts';
import { headObject } from '../../../service/stores/s3/head.ts';
import { s3Outbox } from '../../../service/stores/s3/outbox.ts';
import { presignedGet } from '../../../service/stores/s3/presigned.ts';
import type { Check } from '../check.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';

const remedy =
  'Check the rights of your credentials on the outbox bucket and its key. Otherwise, report what S3 answered.';
const fiveMebibytes = 5 * 1024 * 1024;

function outboxOf({ deployment, ids }: Run) {
  const { [outputs.outboxBucket]: bucket, [outputs.archiveBucket]: archiveBucket } = deployment.outputs;
  const client = s3Client(deployment.clientOptions('s3'));
  const writer = s3Outbox({ client, bucket, archiveBuckets: [archiveBucket] });
  /** A key that no recipient sees, and that the clean-up removes. */
  const probe = (name: string) => `${ids.datasetId}/${name}`;
  return { client, bucket, archiveBucket, writer, probe };
}

/** An address for a probe in the outbox, signed with the caller's own credentials. */
export async function presignedUrl(run: Run, seconds: number): Promise<URL> {
  const { client, bucket, writer, probe } = outboxOf(run);
  const key = probe('expiring');
  await writer.put(key, Buffer.from('probe'), {}, undefined);
  const { url } = await presignedGet(client, { bucket, key, fileName: 'probe' }, { urlLifetimeSeconds: seconds });
  return new URL(url);
}

const conditions: Check = {
  id: 's3-conditions',
  title: 'S3 keeps If-None-Match and If-Match on PutObject and CompleteMultipartUpload',
  remedy,
  async run(run) {
    const { writer, probe } = outboxOf(run);
    const key = probe('conditions');
    const bytes = Buffer.from('first');
    expectThat((await writer.put(key, bytes, {}, undefined)) === 'written', 'the first PutObject was refused');
    expectThat((await writer.put(key, bytes, {}, undefined)) === 'conflict', 'PutObject ignores If-None-Match');
    expectThat((await writer.put(key, bytes, {}, '"other"')) === 'conflict', 'PutObject ignores If-Match');
    const upload = await writer.startUpload(key, { 'request-id': 'probe' });
    const part = await upload.uploadPart(1, Buffer.from('second'));
    expectThat((await upload.complete([part], 6, undefined)) === 'conflict', 'Complete ignores If-None-Match');
    expectThat((await upload.complete([part], 6, '"other"')) === 'conflict', 'Complete ignores If-Match');
    const etag = (await writer.head(key))?.etag;
    expectThat((await upload.complete([part], 6, etag)) === 'written', 'Complete refuses the right If-Match');
    return 'six writes, each decided as documented';
  },
};

const objectSize: Check = {
  id: 's3-object-size',
  title: 'S3 refuses CompleteMultipartUpload with another MpuObjectSize',
  remedy,
  async run(run) {
    const { writer, probe } = outboxOf(run);
    const upload = await writer.startUpload(probe('size'), {});
    const part = await upload.uploadPart(1, Buffer.from('six by'));
    const answer = await upload.complete([part], 7, undefined).catch((error: unknown) => errorName(error));
    expectThat(answer === 'InvalidRequest', `S3 answered ${answer}, expected InvalidRequest`);
    return 'InvalidRequest';
  },
};

const copies: Check = {
  id: 's3-copy-checksums',
  title: 'UploadPartCopy gives the CRC-64/NVME of each part',
  needs: ['archive'],
  remedy,
  async run(run) {
    const { client, archiveBucket, writer, probe } = outboxOf(run);
    const file = await run.target.catalogue.findFile(run.large.fileId);
    const { archiveFilePath = '', archiveLocation } = file ?? {};
    const body = { bucket: archiveBucket, key: archiveFilePath, what: 'the archive bucket' };
    const source = await headObject(client, body);
    expectThat(source !== undefined, 'the archived body is gone');
    const upload = await writer.startUpload(probe('copy'), {});
    const first = await upload.uploadPart(1, randomBytes(fiveMebibytes));
    const address = { archiveFilePath, archiveLocation };
    const container = { address, archiveEtag: source.etag, bodySize: source.size };
    const copied = await upload.copyPart(2, container, { start: 0, end: fiveMebibytes });
    await upload.abort();
    expectThat(first.crc64nvme !== undefined, 'UploadPart gave none');
    expectThat(
      copied.crc64nvme !== undefined,
      'UploadPartCopy gave none: containers are then staged without a checksum',
    );
    return 'both kinds of parts have one';
  },
};

export const storageChecks = [conditions, objectSize, copies];
