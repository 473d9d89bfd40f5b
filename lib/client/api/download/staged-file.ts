import type { Location, ProxyApi } from '../delivery-api.ts';
import { ClientError, UnavailableError } from '../errors.ts';
import { retryAfterMs } from '../retry.ts';
import type { TransportReply } from '../transport.ts';

/** Identifies the content of a staged file. Bytes of two versions must not be mixed. */
export interface Version {
  /** Strong entity tag (RFC 9110 § 8.8.3). */
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

/** Whether a later reply of another version would be noticed. */
export function isRecognizable({ etag, lastModified }: Version): boolean {
  return etag !== undefined || lastModified !== undefined;
}

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
  restarted: () => void = () => undefined,
): Promise<T> {
  for (let [now, restarts] = [size, 0]; ; restarts += 1) {
    try {
      return await work(now);
    } catch (error) {
      if (!(error instanceof ChangedError) || restarts === mostRestarts) throw error;
      now = error.size;
      restarted();
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

/** Statuses that S3 gives when an address, or the session that signed it, has expired. The proxy knows whether the file exists. */
const refusals = new Set([400, 401, 403, 404]);
/** Most addresses that are asked for without a pause because storage refuses them. */
const mostAddresses = 3;
/** After so many replies with the whole file, the client assumes that a proxy on the way removes ranges. */
const mostWholeReplies = 2;
/** No request begins this shortly before an address expires, or in the last quarter of a shorter life. */
const marginMs = 30_000;
const sameCommand = 'Run the same command again: it resumes.';
const refused = 'Tell the operator: storage refuses addresses that the service has just made.';

/** A staged container, served by storage at addresses that the proxy gives. An address is asked for when it is needed. */
export class StagedFile {
  readonly name: string;
  readonly size: number;
  /** Known from the first reply on, or from an earlier run. */
  version: Version | undefined;
  readonly #proxy: Pick<ProxyApi, 'connection' | 'location'>;
  #location: Promise<Location> | undefined;
  /** When the address is no longer used. */
  #locationEnd = 0;
  #wholeReplies = 0;
  /** A reply with the whole file, which the next read takes over, where no ranges come. */
  #whole: Incoming | undefined;

  /** @param file `size` from the listing */
  constructor(
    proxy: Pick<ProxyApi, 'connection' | 'location'>,
    file: { readonly name: string; readonly size: number },
  ) {
    this.name = file.name;
    this.size = file.size;
    this.#proxy = proxy;
  }

  /** Whether ranges can be asked for side by side. Otherwise ask for one after the other, in order. */
  get givesRanges(): boolean {
    return this.#wholeReplies < mostWholeReplies;
  }

  /**
   * Bytes [start, end). A reply that breaks off is taken up where it broke.
   * @throws ChangedError; ClientError
   */
  async read(start: number, end: number, options: ReadOptions): Promise<Buffer> {
    const { signal, memory = Buffer.allocUnsafe(end - start), received, begun, retrying } = options;
    const backoff = this.#proxy.connection.transport.backoff(signal);
    let have = 0;
    for (let refused = 0; ; ) {
      const before = have;
      let incoming: Incoming | undefined;
      try {
        incoming = await this.#open(start + have, end, signal);
        begun?.();
        await incoming.skipTo(start + have);
        while (start + have < end) {
          const bytes = await incoming.next(end - start - have);
          memory.set(bytes, have);
          have += bytes.length;
          received?.(bytes.length);
        }
        if (!(await incoming.isOver())) {
          await this.#whole?.discard();
          this.#whole = incoming;
        }
        return memory.subarray(0, have);
      } catch (error) {
        await incoming?.discard();
        if (have > before) backoff.progressed();
        // Nothing is left to ask for, although the reply did not end as it should: all of it is asked for again.
        if (have === end - start || !isRecognizable(this.version ?? {})) {
          received?.(-have);
          have = 0;
        }
        if (error instanceof RefusedError) refused += 1;
        if (error instanceof RefusedError && refused < mostAddresses) continue;
        if (error instanceof UnavailableError) retrying?.(error);
        await backoff.failed(error);
      }
    }
  }

  async #open(start: number, end: number, signal: AbortSignal | undefined): Promise<Incoming> {
    // Another request that is still under way must not read from it as well.
    const whole = this.#whole;
    this.#whole = undefined;
    if (whole && whole.position <= start) return whole;
    await whole?.discard();
    const asked = this.#address(signal);
    let reply: TransportReply | undefined;
    try {
      const { url, size } = await asked;
      if (size !== this.size) throw new ChangedError(this.name, size);
      // Storage gets no credentials of the user but those in the URL.
      reply = await this.#proxy.connection.transport.send({ url, headers: this.#headers(start, end), signal });
      return this.#checked(reply, url, { start, end });
    } catch (error) {
      await reply?.discard();
      // Another request may have replaced it already. If the file was replaced, the next address says so.
      if (this.#location === asked) this.#location = undefined;
      throw error;
    }
  }

  /** Of a request for a range, on condition that the version is the known one (RFC 9110 § 13.1). */
  #headers(start: number, end: number): Record<string, string> {
    const { etag, lastModified } = this.version ?? {};
    const condition =
      etag === undefined ? lastModified && { 'if-unmodified-since': lastModified } : { 'if-match': etag };
    const isWhole = start === 0 && end === this.size;
    return { ...(!isWhole && { range: `bytes=${start}-${end - 1}` }), ...condition };
  }

  /** The address, or a new one when its end is near. Requests at the same time share it. */
  #address(signal: AbortSignal | undefined): Promise<Location> {
    if (this.#location === undefined || performance.now() >= this.#locationEnd) {
      this.#locationEnd = Number.POSITIVE_INFINITY;
      this.#location = this.#ask(signal);
    }
    return this.#location;
  }

  async #ask(signal: AbortSignal | undefined): Promise<Location> {
    // The lifetime is by the service's clock, and is counted here by a stopwatch: this machine's clock may be wrong.
    const asked = performance.now();
    const location = await this.#proxy.location(this.name, { signal, attempts: 1 });
    this.#locationEnd = asked + location.lifetimeMs - Math.min(marginMs, location.lifetimeMs / 4);
    return location;
  }

  /** Checks that a reply has the bytes that were asked for, of the known version. @throws ChangedError; UnavailableError */
  #checked(
    reply: TransportReply,
    url: URL,
    { start, end }: { readonly start: number; readonly end: number },
  ): Incoming {
    const { name, size } = this;
    const { status } = reply;
    const { transport } = this.#proxy.connection;
    const unusable = (what: string, remedy = sameCommand) => new UnavailableError(`${name}: ${what}`, { remedy });
    if (status === 412) throw new ChangedError(name, size);
    if (status !== 200 && status !== 206) {
      const message = `${name}: storage answered with status ${status}`;
      if (refusals.has(status)) throw new RefusedError(message, { remedy: refused });
      const after = retryAfterMs(reply.header('retry-after'), transport.timing.now());
      throw new UnavailableError(message, { retryAfterMs: after, remedy: sameCommand });
    }
    if (/^text\/html/i.test(reply.header('content-type') ?? '')) {
      const remedy = `Your network may ask you to log in: open a page in a browser. ${sameCommand}`;
      throw unusable(`${transport.answererOf(url)} sent a web page instead of the file`, remedy);
    }
    if (status === 200) {
      const length = Number(reply.header('content-length') ?? size);
      if (length !== size) throw unusable(`${length} bytes came instead of ${size}`);
      const isAsked = end - start === size;
      if (!isAsked) this.#wholeReplies += 1;
      if (!isAsked && this.givesRanges) throw unusable('storage sent the whole file instead of a part');
      this.#compareVersion(reply);
      return new Incoming(reply, { name, position: 0, end: size });
    }
    const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(reply.header('content-range') ?? '') ?? [];
    if (Number(first) !== start || Number(last) !== end - 1 || Number(total) !== size) {
      throw unusable('storage sent other bytes than it was asked for');
    }
    this.#compareVersion(reply);
    return new Incoming(reply, { name, position: start, end });
  }

  #compareVersion(reply: TransportReply): void {
    const etag = reply.header('etag');
    // A weak tag does not promise the same bytes (RFC 9110 § 8.8.1).
    const now = { etag: etag?.startsWith('"') ? etag : undefined, lastModified: reply.header('last-modified') };
    const known = this.version ?? now;
    const isSame = known.etag === undefined ? known.lastModified === now.lastModified : known.etag === now.etag;
    if (!isSame) throw new ChangedError(this.name, this.size);
    this.version = known;
  }
}

/** Storage refuses an address. */
class RefusedError extends UnavailableError {}

/** A reply that is read piece by piece. */
class Incoming {
  position: number;
  readonly #name: string;
  readonly #end: number;
  readonly #reply: TransportReply;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  /** @param file of the bytes: where they begin and end */
  constructor(reply: TransportReply, file: { readonly name: string; readonly position: number; readonly end: number }) {
    this.position = file.position;
    this.#name = file.name;
    this.#end = file.end;
    this.#reply = reply;
    this.#chunks = reply.body[Symbol.asyncIterator]();
  }

  /** At least one byte. @throws UnavailableError at the end */
  async next(most: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done)
        throw new UnavailableError(`${this.#name}: the reply ended ${this.#end - this.position} bytes too early`);
      this.#rest = value;
    }
    const bytes = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(bytes.length);
    this.position += bytes.length;
    return bytes;
  }

  async skipTo(position: number): Promise<void> {
    while (this.position < position) await this.next(position - this.position);
  }

  /** Whether all of it has come. @throws UnavailableError if more comes than was asked for */
  async isOver(): Promise<boolean> {
    if (this.position < this.#end) return false;
    // Only at its end the connection is free for the next request.
    const isOver = this.#rest.length === 0 && (await this.#chunks.next()).done === true;
    if (!isOver) throw new UnavailableError(`${this.#name}: more bytes came than were asked for`);
    return true;
  }

  discard(): Promise<void> {
    return this.#reply.discard();
  }
}
