import { DeleteObjectsCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';

/**
 * Delete the objects of a bucket whose keys begin with `prefix`. The rules of the buckets abort unfinished uploads.
 * @param prefix of a smoke test. An empty one is refused: it would mean the whole bucket
 * @returns how many were removed
 * @throws RangeError for a prefix that names no smoke test
 */
export async function removeSmokeObjects(
  client: S3Client,
  { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
): Promise<number> {
  if (!/^([0-9a-f]{64}\/SMOKE_2d|SMOKE-)/.test(prefix)) throw new RangeError(`${prefix} names no smoke test`);
  let removed = 0;
  for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
    const objects = (page.Contents ?? []).map(({ Key }) => ({ Key }));
    if (objects.length === 0) continue;
    const { Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects, Quiet: true } }),
    );
    const [refused] = Errors;
    if (refused) throw Object.assign(new Error(`${refused.Key}: ${refused.Message}`), { name: refused.Code });
    removed += objects.length;
  }
  return removed;
}
