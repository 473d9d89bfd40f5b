import { createHash } from 'node:crypto';
import { combinedCrc, crcOf, emptyCrc, formatCrc, parseCrc } from '../../../common/crc64nvme.ts';
import type { MultipartUpload, UploadedPart, WriteResult } from '../../archive/ports.ts';
import type { ReceiptOutbox } from '../ports.ts';

/** Least bytes of a part that is not the last: the minimum of S3. */
const partSize = 5 * 1024 * 1024;

/** A receipt whose bytes exist and which is not visible yet. */
export interface PreparedReceipt {
  /** Make it visible, as `OutboxWriter.put` does. It can be called again after a conflict. */
  publish(replaces: string | undefined): Promise<WriteResult>;
  /** Drop it. Never throws. */
  abort(): Promise<void>;
}

/**
 * Take the bytes of a receipt: less than 5 MiB wait in memory for one PutObject, more go out as parts of an upload. After a
 * failure nothing is left.
 */
export async function prepareReceipt(
  outbox: ReceiptOutbox,
  object: { readonly key: string; readonly metadata: Readonly<Record<string, string>> },
  bytes: AsyncIterable<Uint8Array>,
): Promise<PreparedReceipt> {
  const { key, metadata } = object;
  const parts: UploadedPart[] = [];
  let upload: MultipartUpload | undefined;
  let pieces: Uint8Array[] = [];
  let [size, sentBytes] = [0, 0];
  /** Of the parts, as far as S3 tells theirs. */
  let crc: bigint | undefined = emptyCrc;
  const sendPart = async (to: MultipartUpload) => {
    const part = await to.uploadPart(parts.length + 1, Buffer.concat(pieces, size));
    parts.push(part);
    crc =
      crc === undefined || part.crc64nvme === undefined ? undefined : combinedCrc(crc, parseCrc(part.crc64nvme), size);
    sentBytes += size;
    [pieces, size] = [[], 0];
  };
  try {
    for await (const piece of bytes) {
      pieces.push(piece);
      size += piece.length;
      if (size < partSize) continue;
      upload ??= await outbox.startUpload(key, metadata);
      await sendPart(upload);
    }
    if (!upload) {
      const text = Buffer.concat(pieces, size);
      const crc64nvme = formatCrc(await crcOf(text));
      return { publish: (replaces) => outbox.put(key, text, metadata, replaces, crc64nvme), abort: async () => {} };
    }
    const whole = upload;
    if (size > 0) await sendPart(whole);
    const crc64nvme = crc === undefined ? undefined : formatCrc(crc);
    return {
      publish: (replaces) => whole.complete(parts, sentBytes, replaces, crc64nvme),
      abort: () => whole.abort(),
    };
  } catch (error) {
    await upload?.abort();
    throw error;
  }
}

/**
 * A JWS in compact form (RFC 7515 § 7.1), in pieces. The payload may be of any length: base64url works on three bytes at a
 * time, and the signature is made of the SHA-256 of what went before.
 *
 * @param payload text, in pieces
 * @param sign makes the signature of a SHA-256 digest, in the form of the header's `alg`
 */
export async function* compactJws(
  header: Readonly<Record<string, string | readonly string[]>>,
  payload: AsyncIterable<string>,
  sign: (digest: Uint8Array) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  const signed = (text: string): Uint8Array => {
    hash.update(text);
    return Buffer.from(text, 'latin1');
  };
  yield signed(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.`);
  let rest = Buffer.alloc(0);
  for await (const text of payload) {
    const bytes = Buffer.concat([rest, Buffer.from(text)]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    yield signed(bytes.toString('base64url', 0, whole));
  }
  yield signed(rest.toString('base64url'));
  const signature = await sign(hash.digest());
  yield Buffer.from(`.${Buffer.from(signature).toString('base64url')}`, 'latin1');
}
