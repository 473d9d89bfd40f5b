import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { outputs } from '../../../contract/outputs.ts';
import { s3Client } from '../../../service/stores/clients.ts';
import { headObject } from '../../../service/stores/s3/head.ts';
import { s3Outbox } from '../../../service/stores/s3/outbox.ts';
import { presignedGet } from '../../../service/stores/s3/presigned.ts';
import type { Check } from '../check.ts';
import { expectThat } from '../expect-that.ts';
import type { Run } from '../run.ts';

const fiveMebibytes = 5 * 1024 * 1024;

function outboxOf({ deployment, ids }: Run) {
  const { [outputs.outboxBucket]: bucket, [outputs.archiveBucket]: archiveBucket } = deployment.outputs;
  const client = s3Client(deployment.clientOptions('s3'));
  const writer = s3Outbox({ client, bucket, archiveBuckets: [archiveBucket] });
  /** A key that no recipient sees, and that the clean-up removes. */
  const probe = (name: string) => `${ids.datasetId}/${name}`;
  return { client, bucket, archiveBucket, writer, probe };
}

const presigned: Check = {
  id: 'presigned',
  title: 'an address serves ranges, no HEAD, and nothing once it has expired',
  needs: ['outbox'],
  remedy: 'Check the clock of this machine, and the policy of the outbox bucket.',
  async run(run) {
    const { transport, signal } = run;
    const { client, bucket, writer, probe } = outboxOf(run);
    const { url, size } = await run.researcher().location(run.listed.at(-1)?.name ?? '', { signal });
    const part = await transport.send({ url, headers: { range: 'bytes=10-19' }, signal });
    const found = `${part.status}, ${(await buffer(part.body)).length} bytes, ${part.header('content-range')}`;
    expectThat(found === `206, 10 bytes, bytes 10-19/${size}`, `range: ${found}`);
    const key = probe('expiring');
    await writer.put(key, Buffer.from('probe'), {}, undefined);
    const short = await presignedGet(client, { bucket, key, fileName: 'probe' }, { urlLifetimeSeconds: 1 });
    await pause(2500, undefined, { signal });
    for (const [method, address] of [['HEAD', url] as const, ['GET', new URL(short.url)] as const]) {
      const refused = await transport.send({ method, url: address, signal });
      await refused.discard();
      expectThat(refused.status === 403, `${method}: ${refused.status}, expected 403`);
    }
    const disposition = part.header('content-disposition') === undefined ? 'absent' : 'there';
    return `206, 403 and 403; Content-Disposition on 206 is ${disposition}`;
  },
};

const copies: Check = {
  id: 's3-copy-checksums',
  title: 'UploadPartCopy gives the CRC-64/NVME of each part',
  needs: ['archive'],
  remedy: 'Check the rights of your credentials on the outbox bucket and its key. Otherwise, report what S3 answered.',
  async run(run) {
    const { client, archiveBucket, writer, probe } = outboxOf(run);
    const { archiveFilePath = '', archiveLocation } = (await run.target.catalogue.findFile(run.large.fileId)) ?? {};
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
    expectThat(copied.crc64nvme !== undefined, 'UploadPartCopy gave none: containers are staged without a checksum');
    return 'both kinds of parts have one';
  },
};

export const storageChecks = [presigned, copies];
