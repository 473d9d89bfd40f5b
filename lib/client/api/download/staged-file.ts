import type { DeliveryApi, ListedFile, Location } from '../delivery-api.ts';
import { ClientError, UnavailableError } from '../errors.ts';
import { timeIn } from '../json.ts';
import { retryAfterMs } from '../retry.ts';
import type { TransportReply } from '../transport.ts';

/** How often the download of a file restarts because the file was replaced. */
const mostRestarts = 3;

/** The staged file was replaced under the download: restart. */
export class ChangedError extends ClientError {
  /** Bytes of the file as it is now, as far as known. */
  readonly size: number;
  constructor(name: string, size: number) {
    super('unavailable', `${name}: the file was replaced while it was downloaded`, {
      remedy: 'Wait for the end of the export, then run the same command again.',
    });
    this.size = size;
  }
}

/** Does some work again, with the new size, when the file was replaced meanwhile. @param size as it is listed */
export async function restarting<T>(
  size: number,
  work: (size: number) => Promise<T>,
  restarted: (error: ChangedError) => void = () => undefined,
): Promise<T> {
  for (let [now, restarts] = [size, 0]; ; restarts += 1) {
    try {
      return await work(now);
    } catch (error) {
      if (!(error instanceof ChangedError) || restarts === mostRestarts) throw error;
      now = error.size;
      restarted(error);
    }
  }
}

interface ReadOptions {
  readonly signal: AbortSignal | undefined;
  /** Gets the bytes, from its start on. Default: new memory. */
  readonly memory?: Buffer | undefined;
  /** Called with the number of bytes that came; negative: they come again. */
  readonly received?: (bytes: number) => void;
  /** Called when storage begins to send, so the version is known. */
  readonly begun?: () => void;
  readonly retrying?: (error: ClientError) => void;
}

const sameCommand = 'Run the same command again: it resumes.';
/** After so many replies with the whole file, the client assumes that a proxy on the way removes ranges. */
const mostWholeReplies = 2;

/** A staged container, served by storage at addresses that the proxy gives. An address is asked for when it is needed. */
export class StagedFile {
  readonly name: string;
  readonly size: number;
  /**
   * Strong entity tag (RFC 9110 § 8.8.3): bytes of two versions must not be mixed. Known from the first reply on, or from an
   * earlier run. Without one, only another time shows another version.
   */
  etag: string | undefined;
  #modified: string | undefined;
  /** Replies with the whole file where a part was asked for. */
  #wholeReplies = 0;
  readonly #proxy: Pick<DeliveryApi, 'connection' | 'location'>;
  #location: Promise<Location> | undefined;
  /** A reply with the whole file, which the next read takes over, where no ranges come. */
  #whole: Incoming | undefined;

  /** @param file `size` from the listing */
  constructor(proxy: Pick<DeliveryApi, 'connection' | 'location'>, { name, size }: Pick<ListedFile, 'name' | 'size'>) {
    this.name = name;
    this.size = size;
    this.#proxy = proxy;
  }

  /** The time of the version that came. */
  get modified(): Date | undefined {
    return timeIn(this.#modified);
  }

  /** Whether ranges can be asked for side by side. Otherwise ask for one after the other, in order. */
  get givesRanges(): boolean {
    return this.#wholeReplies < mostWholeReplies;
  }

  /** Bytes [start, end). A reply that breaks off is taken up where it broke. @throws ChangedError; ClientError */
  async read(start: number, end: number, options: ReadOptions): Promise<Buffer> {
    const { signal, memory = Buffer.allocUnsafe(end - start), received, begun, retrying } = options;
    const backoff = this.#proxy.connection.transport.backoff(signal);
    for (let [at, expired] = [start, false]; ; ) {
      const before = at;
      let incoming: Incoming | undefined;
      try {
        incoming = await this.#open(at, end, signal);
        begun?.();
        while (at < end) {
          const bytes = await incoming.bytes(at, end);
          memory.set(bytes, at - start);
          at += bytes.length;
          received?.(bytes.length);
        }
        await this.#keep(incoming, end);
        return memory.subarray(0, end - start);
      } catch (error) {
        await incoming?.discard();
        // Without a tag, the bytes that came have to come again.
        if (at > before && this.etag !== undefined) backoff.progressed();
        if (this.etag === undefined) {
          received?.(start - at);
          at = start;
        }
        // Addresses expire under a long download. The next one is asked for at once, and nobody needs to know.
        if (error instanceof RefusedError && !expired) {
          expired = true;
          continue;
        }
        if (error instanceof UnavailableError) retrying?.(error);
        await backoff.failed(error);
      }
    }
  }

  /** Keeps the rest of a reply for the next read. */
  async #keep(incoming: Incoming, end: number): Promise<void> {
    const before = this.#whole;
    const hasMore = incoming.isWhole && end < this.size;
    this.#whole = hasMore ? incoming : undefined;
    await before?.discard();
    if (!hasMore) await incoming.end();
  }

  async #open(start: number, end: number, signal: AbortSignal | undefined): Promise<Incoming> {
    // Another request that is still under way must not read from it as well.
    const whole = this.#whole;
    this.#whole = undefined;
    if (whole && whole.position <= start) return whole;
    await whole?.discard();
    this.#location ??= this.#proxy.location(this.name, { signal, attempts: 1 });
    const asked = this.#location;
    let reply: TransportReply | undefined;
    try {
      const { url, size } = await asked;
      if (size !== this.size) throw new ChangedError(this.name, size);
      const headers = {
        ...(end - start < size && { range: `bytes=${start}-${end - 1}` }),
        ...(this.etag !== undefined && { 'if-match': this.etag }),
      };
      // Storage gets no credentials of the user but those in the URL.
      reply = await this.#proxy.connection.transport.send({ url, headers, signal });
      this.#check(reply, url, { start, end });
      const isWhole = reply.status === 200;
      return new Incoming(this.name, reply, isWhole ? 0 : start, isWhole);
    } catch (error) {
      await reply?.discard();
      // It may have expired. Another request may have replaced it already. If the file was replaced, the next address says so.
      if (this.#location === asked) this.#location = undefined;
      throw error;
    }
  }

  /** Checks that a reply has the whole file or the range, and the known version. @throws ChangedError; UnavailableError */
  #check(reply: TransportReply, url: URL, { start, end }: { readonly start: number; readonly end: number }): void {
    const { status } = reply;
    const after = retryAfterMs(reply.header('retry-after'));
    const unusable = (what: string, remedy = sameCommand, Kind = UnavailableError) =>
      new Kind(`${this.name}: ${what}`, { remedy, retryAfterMs: after });
    // RFC 9110 § 13.1.1: it is not the version of the entity tag.
    if (status === 412) throw new ChangedError(this.name, this.size);
    if (status !== 200 && status !== 206) {
      const why = status === 403 ? ', as for an address that has expired' : '';
      const remedy = `${sameCommand} If that does not help, tell the operator.`;
      throw unusable(`storage answered with status ${status}${why}`, remedy, status === 403 ? RefusedError : undefined);
    }
    if (/^text\/html/i.test(reply.header('content-type') ?? '')) {
      const remedy = `Your network may ask you to log in: open a page in a browser. ${sameCommand}`;
      throw unusable(`${this.#proxy.connection.transport.answererOf(url)} sent a web page instead of the file`, remedy);
    }
    const length = Number(reply.header('content-length') ?? this.size);
    if (status === 200 && length !== this.size) throw unusable(`${length} bytes came instead of ${this.size}`);
    if (status === 200 && end - start < this.size) {
      this.#wholeReplies += 1;
      if (this.givesRanges) throw unusable('storage sent the whole file instead of a part');
    }
    if (status === 206 && reply.header('content-range') !== `bytes ${start}-${end - 1}/${this.size}`) {
      throw unusable('storage sent other bytes than it was asked for');
    }
    // A weak tag does not promise the same bytes (RFC 9110 § 8.8.1).
    const [etag] = /^".*$/.exec(reply.header('etag') ?? '') ?? [];
    const modified = reply.header('last-modified');
    const isOther =
      this.etag === undefined ? this.#modified !== undefined && modified !== this.#modified : etag !== this.etag;
    if (isOther) throw new ChangedError(this.name, this.size);
    this.etag = etag;
    this.#modified = modified;
  }
}

/** Storage refuses an address, as it does when it has expired. */
class RefusedError extends UnavailableError {}

/** A reply that is read piece by piece. */
class Incoming {
  /** Of the first byte that is in memory. */
  position: number;
  readonly isWhole: boolean;
  readonly #name: string;
  readonly #reply: TransportReply;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array();

  constructor(name: string, reply: TransportReply, position: number, isWhole: boolean) {
    this.#name = name;
    this.position = position;
    this.isWhole = isWhole;
    this.#reply = reply;
    this.#chunks = reply.body[Symbol.asyncIterator]();
  }

  /** At least one of the bytes [start, end); those before are skipped. @throws UnavailableError at the end */
  async bytes(start: number, end: number): Promise<Uint8Array> {
    for (;;) {
      const found = this.#chunk.subarray(start - this.position, end - this.position);
      if (found.length > 0) return found;
      this.position += this.#chunk.length;
      const { done, value } = await this.#chunks.next();
      if (done) {
        const missing = `${this.#name}: the reply ended ${end - this.position} bytes too early`;
        throw new UnavailableError(missing, { remedy: sameCommand });
      }
      this.#chunk = value;
    }
  }

  /** Reads the end of the reply: only then is the connection free for the next request. What comes instead is of no use. */
  async end(): Promise<void> {
    const { done } = await this.#chunks.next().catch(() => ({ done: false }));
    if (!done) await this.discard();
  }

  discard(): Promise<void> {
    return this.#reply.discard();
  }
}
