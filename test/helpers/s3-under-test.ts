import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { it } from 'vitest';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { testClient } from './http-handler.ts';
import { S3Server } from './s3-server.ts';

/**
 * The S3 that a conformance suite asks: the embedded one, or the one at `DATA_OUT_S3_ENDPOINT` with the credentials and
 * region of the environment. `DATA_OUT_S3_SERVER` names it, so that its known differences are found.
 */
export interface S3UnderTest extends AsyncDisposable {
  readonly client: S3Client;
  readonly bucket: string;
}

const endpoint = process.env.DATA_OUT_S3_ENDPOINT;
const server = endpoint === undefined ? 'embedded' : (process.env.DATA_OUT_S3_SERVER ?? 'other');

export async function s3UnderTest(): Promise<S3UnderTest> {
  const bucket = `data-out-conformance-${randomBytes(6).toString('hex')}`;
  if (endpoint === undefined) {
    const embedded = await S3Server.start(bucket);
    return { client: embedded.client(), bucket, [Symbol.asyncDispose]: () => embedded[Symbol.asyncDispose]() };
  }
  const own = process.env.AWS_ACCESS_KEY_ID ? { region: process.env.AWS_REGION ?? 'us-east-1' } : testClient;
  const client = s3Client({ ...own, endpoint });
  const elsewhere = own.region !== 'us-east-1';
  await client.send(
    new CreateBucketCommand({
      Bucket: bucket,
      ...(elsewhere && { CreateBucketConfiguration: { LocationConstraint: testClient.region } }),
    }),
  );
  return { client, bucket, [Symbol.asyncDispose]: async () => client.destroy() };
}

/** Why a server does not pass a test, by its name. */
type Differences = Readonly<Partial<Record<'moto' | 'versitygw', string>>>;

/**
 * A promise of S3's documentation. Where a server is known to break it, the test passes only as long as the server does:
 * a difference that is gone must leave the list.
 */
export function documented(name: string, test: () => Promise<void>, differences: Differences = {}): void {
  const known = differences[server as keyof Differences];
  if (known === undefined) it(name, test);
  else it.fails(`${name} (${server} differs: ${known})`, test);
}
