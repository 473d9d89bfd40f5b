import { createHash } from 'node:crypto';
import { combinedCrc, crcOf, emptyCrc, formatCrc, parseCrc } from '../../../common/crc64nvme.ts';
import type { MultipartUpload, UploadedPart, WriteResult } from '../../archive/ports.ts';
import type { ReceiptOutbox } from '../ports.ts';

/** Least bytes of a part that is not the last: the minimum of S3. */
const partSize = 5 * 1024 * 1024;

/** A receipt whose bytes are there and which is not visible yet. */
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
  const parts = new Parts();
  let upload: MultipartUpload | undefined;
  let held: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of bytes) {
      held.push(piece);
      size += piece.length;
      if (size < partSize) continue;
      upload ??= await outbox.startUpload(key, metadata);
      await parts.send(upload, Buffer.concat(held, size));
      [held, size] = [[], 0];
    }
    const rest = Buffer.concat(held, size);
    if (!upload) {
      const crc64nvme = formatCrc(await crcOf(rest));
      return { publish: (replaces) => outbox.put(key, rest, metadata, replaces, crc64nvme), abort: async () => {} };
    }
    if (size > 0) await parts.send(upload, rest);
    const whole = upload;
    return {
      publish: (replaces) => whole.complete(parts.sent, parts.size, replaces, parts.crc64nvme),
      abort: () => whole.abort(),
    };
  } catch (error) {
    await upload?.abort();
    throw error;
  }
}

/** The parts that were sent, and the CRC that follows from theirs. */
class Parts {
  readonly sent: UploadedPart[] = [];
  size = 0;
  #crc: bigint | undefined = emptyCrc;

  async send(upload: MultipartUpload, bytes: Uint8Array): Promise<void> {
    const part = await upload.uploadPart(this.sent.length + 1, bytes);
    this.sent.push(part);
    this.size += bytes.length;
    if (part.crc64nvme === undefined) this.#crc = undefined;
    else if (this.#crc !== undefined) this.#crc = combinedCrc(this.#crc, parseCrc(part.crc64nvme), bytes.length);
  }

  get crc64nvme(): string | undefined {
    return this.#crc === undefined ? undefined : formatCrc(this.#crc);
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
