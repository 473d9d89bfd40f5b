import { parseDirectKey } from '../../lib/contract/direct-key.ts';
import { isOutboxFileName } from '../../lib/contract/outbox-key.ts';
import type { BodyAddress, SignedUrl } from '../../lib/service/archive/ports.ts';
import type { DirectUrls } from '../../lib/service/direct/ports.ts';

/** Signs nothing but records each request, and refuses objects that must not be signed. Its URLs live for 15 minutes. */
export class FakeDirectUrls implements DirectUrls {
  readonly signed: string[] = [];
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  container(key: string): Promise<SignedUrl> {
    if (!parseDirectKey(key)) throw new Error(`not the key of a short-lived container: ${key}`);
    return this.#sign(`outbox/${key}`);
  }

  body({ archiveFilePath }: BodyAddress, fileName: string): Promise<SignedUrl> {
    if (!isOutboxFileName(fileName)) throw new Error(`not safe in a header: ${fileName}`);
    return this.#sign(`archive/${archiveFilePath}`);
  }

  async #sign(object: string): Promise<SignedUrl> {
    this.signed.push(object);
    return {
      url: `https://s3.example/${object}?signature=s`,
      expiresAt: new Date(this.#now().getTime() + 15 * 60_000),
    };
  }
}
