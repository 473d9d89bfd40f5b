import type { OutboxReader, StagedFile } from '../../lib/service/outbox/ports.ts';

const s3PageSize = 1000;
const prefixForm = /^[0-9a-f]{64}$/;

/**
 * Outbox contents in memory, listed as S3 does: in byte order of the names, 1,000 at a time, and no page before it is
 * asked for. Refuses prefixes that are not a recipient's, and refuses to sign missing files.
 */
export class FakeOutboxReader implements OutboxReader {
  /** S3 pages that were read so far, over all listings. */
  pagesRead = 0;
  /** Listings that were begun and not yet finished or closed. */
  openListings = 0;
  /** Which page read (from 1) throws, and what. */
  failure: { readonly atPage: number; readonly error: Error } | undefined;
  readonly signed: string[] = [];
  readonly #files = new Map<string, StagedFile[]>();

  /** Stage files under a recipient's prefix. */
  stage(prefix: string, ...files: (Partial<StagedFile> & { readonly name: string })[]): void {
    expectPrefix(prefix);
    const all = this.#files.get(prefix) ?? [];
    for (const file of files) {
      all.push({ size: 1, etag: '"e"', lastModified: new Date('2026-11-01T12:00:00Z'), ...file });
    }
    all.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    this.#files.set(prefix, all);
  }

  async *list(prefix: string, after = ''): AsyncGenerator<readonly StagedFile[]> {
    expectPrefix(prefix);
    const files = (this.#files.get(prefix) ?? []).filter(({ name }) => name > after);
    this.openListings += 1;
    try {
      for (let start = 0; start === 0 || start < files.length; start += s3PageSize) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        this.pagesRead += 1;
        if (this.failure?.atPage === this.pagesRead) throw this.failure.error;
        const page = files.slice(start, start + s3PageSize);
        if (page.length > 0) yield page;
      }
    } finally {
      this.openListings -= 1;
    }
  }

  async find(prefix: string, name: string): Promise<StagedFile | undefined> {
    expectPrefix(prefix);
    if (this.failure) throw this.failure.error;
    return this.#files.get(prefix)?.find((file) => file.name === name);
  }

  async presign(prefix: string, name: string): Promise<{ url: string; expiresAt: Date }> {
    const file = await this.find(prefix, name);
    if (!file) throw new Error('signing what is missing');
    this.signed.push(`${prefix}/${name}`);
    return { url: `https://bucket.example/${prefix}/${name}?signature=s`, expiresAt: new Date('2026-11-21T10:15:00Z') };
  }
}

function expectPrefix(prefix: string): void {
  if (!prefixForm.test(prefix)) throw new Error(`not a recipient's prefix: ${prefix}`);
}
