import { AwsError } from '../endpoint/errors.ts';

/** The longest line between two chunks: a length, or a trailer. */
const longestLine = 1024;

/**
 * The bytes inside a body in `aws-chunked` form (S3 API reference, "Signature calculations: transferring payload in
 * multiple chunks"), without chunk signatures: what the SDK sends when a checksum follows the bytes.
 *
 * @param trailer called with each header behind the last chunk, its name in lower case
 * @throws AwsError IncompleteBody, InvalidRequest
 */
export async function* chunked(
  body: AsyncIterable<Uint8Array>,
  trailer: (name: string, value: string) => void,
): AsyncGenerator<Uint8Array> {
  const reader = new Reader(body[Symbol.asyncIterator]());
  for (;;) {
    const [length = ''] = (await reader.line()).split(';');
    if (!/^[0-9a-f]{1,8}$/i.test(length)) throw invalid();
    const size = Number.parseInt(length, 16);
    if (size === 0) break;
    yield* reader.bytes(size);
    if ((await reader.line()) !== '') throw invalid();
  }
  for (let line = await reader.line(); line !== ''; line = await reader.line()) {
    const [name = '', value = ''] = line.split(/:(.*)/s);
    trailer(name.trim().toLowerCase(), value.trim());
  }
}

class Reader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(pieces: AsyncIterator<Uint8Array>) {
    this.#pieces = pieces;
  }

  /** Up to the next line end, which is not part of it. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end > 0 && this.#rest[end - 1] === 13) {
        const line = Buffer.from(this.#rest.subarray(0, end - 1)).toString('latin1');
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (end >= 0 || this.#rest.length > longestLine) throw invalid();
      const more = await this.#next();
      if (!more) throw incomplete();
      this.#rest = Buffer.concat([this.#rest, more]);
    }
  }

  async *bytes(count: number): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) {
        const more = await this.#next();
        if (!more) throw incomplete();
        this.#rest = more;
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async #next(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#pieces.next();
    return done ? undefined : value;
  }
}

function incomplete(): AwsError {
  return new AwsError(400, 'IncompleteBody', 'The request body terminated unexpectedly');
}

function invalid(): AwsError {
  return new AwsError(400, 'InvalidRequest', 'the body is not in aws-chunked form without chunk signatures');
}
