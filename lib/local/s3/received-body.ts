import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Crc32 } from '@aws-sdk/checksums/crc';
import { formatCrc } from '../../common/crc64nvme.ts';
import { AwsError } from '../endpoint/errors.ts';
import { readAll } from '../http.ts';
import type { DataFiles, Stored } from './data-files.ts';
import { notImplemented, s3Limits } from './refusals.ts';
import { malformedXml } from './xml.ts';

/** Bytes of a request, in a data file. */
export interface ReceivedBody {
  readonly stored: Stored;
  readonly size: number;
  /** Hex. `undefined` when it was not asked for. */
  readonly md5: string | undefined;
  readonly crc: bigint;
}

/** An algorithm that makes a digest. */
interface Digest {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array | Promise<Uint8Array>;
}

/** Checksums that a client may state, by header. CRC64NVME is not among them: it is always made. */
const digests: Readonly<Record<string, () => Digest>> = {
  'content-md5': () => createHash('md5'),
  'x-amz-checksum-crc32': () => new Crc32(),
};
export const crcHeader = 'x-amz-checksum-crc64nvme';

/**
 * Write the body of a request into a data file, and compare it with what the request says of it. A refused body leaves
 * nothing behind.
 *
 * @throws AwsError MissingContentLength, EntityTooLarge, IncompleteBody, BadDigest, XAmzContentSHA256Mismatch,
 * NotImplemented for a checksum that is not made here, and for a body in chunks
 */
export async function receiveBody(
  request: IncomingMessage,
  owner: string,
  files: DataFiles,
  options: { readonly md5: boolean },
): Promise<ReceivedBody> {
  const { headers } = request;
  checkLength(headers);
  // The connection stays open: it carries the reply to a refusal half-way.
  const bytes = request.iterator({ destroyOnReturn: false });
  const md5 = options.md5 ? createHash('md5') : undefined;
  const sha256 = isDigest(headers) ? createHash('sha256') : undefined;
  const wanted = wantedDigests(headers);
  const all = [md5, sha256, ...wanted.values()].filter((digest) => digest !== undefined);
  const { stored, size, crc } = await files.write(owner, digesting(bytes, all));
  try {
    if (size !== Number(headers['content-length'])) {
      throw new AwsError(
        400,
        'IncompleteBody',
        'You did not provide the number of bytes specified by the Content-Length HTTP header',
      );
    }
    if (sha256) compareSigned(headers, sha256.digest('hex'));
    compareChecksum(crcHeader, headers[crcHeader], formatCrc(crc));
    for (const [header, digest] of wanted) {
      compareChecksum(header, headers[header], Buffer.from(await digest.digest()).toString('base64'));
    }
  } catch (error) {
    files.discard(stored);
    throw error;
  }
  return { stored, size, md5: md5?.digest('hex'), crc };
}

/** The XML of a request. @throws AwsError XAmzContentSHA256Mismatch; MalformedXML when it is too long */
export async function receiveDocument(request: IncomingMessage): Promise<string> {
  const body = await readAll(request, s3Limits.documentBytes);
  if (!body) throw malformedXml();
  if (isDigest(request.headers)) compareSigned(request.headers, createHash('sha256').update(body).digest('hex'));
  return body.toString();
}

/** Whether the signature is over the digest of the body. */
function isDigest(headers: IncomingHttpHeaders): boolean {
  return /^[0-9a-f]{64}$/.test(String(headers['x-amz-content-sha256']));
}

function compareSigned(headers: IncomingHttpHeaders, found: string): void {
  if (headers['x-amz-content-sha256'] === found) return;
  throw new AwsError(
    400,
    'XAmzContentSHA256Mismatch',
    "The provided 'x-amz-content-sha256' header does not match what was computed.",
  );
}

function checkLength(headers: IncomingHttpHeaders): void {
  const { 'content-length': length, 'x-amz-content-sha256': form } = headers;
  if (String(form).startsWith('STREAMING-')) throw notImplemented(`the payload form ${form}`);
  if (length === undefined) {
    throw new AwsError(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  if (Number(length) > s3Limits.bodyBytes) {
    throw new AwsError(400, 'EntityTooLarge', 'Your proposed upload exceeds the maximum allowed size');
  }
}

/** The digests to make, by the header that states their value. */
function wantedDigests(headers: IncomingHttpHeaders): ReadonlyMap<string, Digest> {
  const names = Object.keys(headers).filter(
    (name) => name === 'content-md5' || /^x-amz-checksum-(?!algorithm|mode|type)/.test(name),
  );
  const wanted = new Map<string, Digest>();
  for (const name of names) {
    if (name === crcHeader) continue;
    const make = digests[name];
    if (!make) throw notImplemented(`the checksum ${name}`);
    wanted.set(name, make());
  }
  return wanted;
}

/** Compare a stated checksum with the one of the bytes. @throws AwsError BadDigest */
export function compareChecksum(header: string, stated: string | string[] | undefined, found: string): void {
  if (stated === undefined || stated === found) return;
  const name = header === 'content-md5' ? 'Content-MD5' : header.replace('x-amz-checksum-', '').toUpperCase();
  throw new AwsError(400, 'BadDigest', `The ${name} you specified did not match the calculated checksum.`);
}

async function* digesting(bytes: AsyncIterable<Uint8Array>, all: readonly Digest[]): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    for (const digest of all) digest.update(piece);
    yield piece;
  }
}
