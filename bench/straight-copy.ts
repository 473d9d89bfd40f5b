/**
 * A small, honest implementation of what the field's Java service does with an export: the whole body comes into the process, and
 * the container goes out in parts of 10 MiB, one after the other. It is given the header that the service under test has
 * rebuilt, and asks no database, so it does less than either service. `export.ts` runs it in its own process, which takes a
 * {@link StraightCopyInput} as a message and answers with a {@link StraightCopyOutput}.
 */
import { readFileSync } from 'node:fs';
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';

export interface StraightCopyInput {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly source: { readonly Bucket: string; readonly Key: string };
  readonly target: { readonly Bucket: string; readonly Key: string };
  /** The rebuilt header, base64. */
  readonly header: string;
}

export interface StraightCopyOutput {
  readonly milliseconds: number;
  /** User and system time of the same. */
  readonly cpuMilliseconds: number;
  /** `VmHWM` of the whole process in bytes; `undefined` without `/proc`. */
  readonly peakMemory: number | undefined;
}

const partBytes = 10 * 2 ** 20;
let client: S3Client | undefined;

async function copy(client: S3Client, { source, target, header }: StraightCopyInput): Promise<void> {
  const { Body } = await client.send(new GetObjectCommand(source));
  let UploadId: string | undefined;
  const parts: CompletedPart[] = [];
  const part = Buffer.allocUnsafe(partBytes);
  let filled = Buffer.from(header, 'base64').copy(part);
  const sendPart = async () => {
    UploadId ??= (await client.send(new CreateMultipartUploadCommand(target))).UploadId;
    const PartNumber = parts.length + 1;
    const Body = part.subarray(0, filled);
    const { ETag } = await client.send(new UploadPartCommand({ ...target, UploadId, PartNumber, Body }));
    parts.push({ PartNumber, ETag });
    filled = 0;
  };
  for await (const chunk of Body as AsyncIterable<Buffer>) {
    for (let taken = 0; taken < chunk.length; ) {
      if (filled === partBytes) await sendPart();
      const copied = chunk.copy(part, filled, taken);
      taken += copied;
      filled += copied;
    }
  }
  if (!UploadId) {
    await client.send(new PutObjectCommand({ ...target, Body: part.subarray(0, filled) }));
    return;
  }
  await sendPart();
  await client.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: parts } }));
}

function peakMemory(): number | undefined {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
  } catch {
    return undefined;
  }
}

process.on('message', async (input: StraightCopyInput) => {
  const { endpoint, region, credentials } = input;
  client ??= new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  await copy(client, input);
  const milliseconds = performance.now() - started;
  const { user, system } = process.cpuUsage(cpuBefore);
  const output: StraightCopyOutput = {
    milliseconds,
    cpuMilliseconds: (user + system) / 1000,
    peakMemory: peakMemory(),
  };
  process.send?.(output);
});
