import type { MultipartUpload, UploadedPart, WriteResult } from '../../archive/ports.ts';
import { combinedCrc, crcOf, emptyCrc, formatCrc, parseCrc } from '../../contract/crc64nvme.ts';
import type { ReceiptOutbox } from './ports.ts';

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
