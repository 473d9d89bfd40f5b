import { ENCRYPTED_SEGMENT_BYTES, headerLength, MalformedHeaderError } from '../../../crypt4gh/index.ts';
import { checkOf } from './check.ts';
import type { ReadableTarget } from './disk/part-file.ts';
import type { Expectation, Verified } from './expected.ts';
import { type InOrderOptions, inOrder } from './remote/in-order.ts';
import type { RemoteFile } from './remote/remote-file.ts';

export interface StreamFileOptions extends InOrderOptions {
  readonly remote: RemoteFile;
  /** What the file must be; default: it is not compared. */
  readonly expected: Expectation;
  /** Called before the last byte, once the file is compared; `undefined`: it is not verified. A rejection withholds that byte. */
  readonly compared: (verified: Verified | undefined) => Promise<void> | void;
}

/**
 * The bytes of one file in their order, for a pipe, in bounded memory. A Crypt4GH body can end after any segment, so a reader
 * would take what stops there for a whole file. Therefore the output never stops there before its end: a byte or two are held
 * back, and the last one comes when the file is compared with what is expected.
 * @throws ClientError
 */
export async function* streamFile(options: StreamFileOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const { remote, expected, compared, ...more } = options;
  const head = new Head();
  const check = await checkOf(head, remote.name, expected);
  let position = 0;
  let held = Buffer.alloc(0);
  for await (const chunk of inOrder(remote, more)) {
    head.add(chunk);
    await check?.write([chunk], position);
    position += chunk.length;
    const bytes = Buffer.concat([held, chunk]);
    const keep = Math.min(bytes.length, head.isBorder(position - 1) ? 2 : 1);
    held = bytes.subarray(bytes.length - keep);
    yield bytes.subarray(0, bytes.length - keep);
  }
  await compared(await check?.verdict(more.signal));
  yield held;
}

/** The header of a container that is not kept. */
class Head implements ReadableTarget {
  #bytes = Buffer.alloc(0);
  /** Bytes of the header; `undefined` before it is complete, and for a file that is not a container. */
  #length: number | undefined;
  #isOver = false;

  add(chunk: Uint8Array): void {
    if (this.#isOver) return;
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    try {
      this.#length = headerLength(this.#bytes);
      this.#isOver = this.#length !== undefined;
    } catch (error) {
      if (!(error instanceof MalformedHeaderError)) throw error;
      this.#isOver = true;
    }
    if (this.#isOver) this.#bytes = Buffer.from(this.#bytes.subarray(0, this.#length ?? 0));
  }

  /** Whether a container that ended here would look whole. */
  isBorder(position: number): boolean {
    const length = this.#length;
    return length !== undefined && position >= length && (position - length) % ENCRYPTED_SEGMENT_BYTES === 0;
  }

  write = async () => undefined;

  read = async (position: number, length: number) => this.#bytes.subarray(position, position + length);
}
