import type { OutboxReader, StagedFile } from '../ports.ts';
import type { Recipient } from './caller.ts';

/** A staged container and its owner. */
export interface OutboxRow extends StagedFile {
  readonly owner: string;
}

/**
 * All containers of the recipients in name order. A name that several recipients have appears once, with the container of
 * the first, which a download also gets. Each batch goes out before the next S3 page is read: memory holds one page a
 * recipient.
 *
 * @param after only names behind this one. Default: all
 */
export async function* mergedListing(
  outbox: Pick<OutboxReader, 'list'>,
  recipients: readonly Recipient[],
  after?: string,
): AsyncGenerator<readonly OutboxRow[]> {
  const cursors = recipients.map((recipient) => new Cursor(outbox.list(recipient.prefix, after), recipient.sub));
  try {
    for (;;) {
      await Promise.all(cursors.map((cursor) => cursor.fill()));
      const batch: OutboxRow[] = [];
      while (cursors.every((cursor) => cursor.row || cursor.ended)) {
        const row = firstOf(cursors);
        if (!row) break;
        batch.push(row);
        for (const cursor of cursors) cursor.skip(row.name);
      }
      if (batch.length === 0) return;
      yield batch;
    }
  } finally {
    await Promise.all(cursors.map((cursor) => cursor.close()));
  }
}

/** The row with the least name; of equal names the first recipient's. Names are ASCII, so S3 sorts them by code units too. */
function firstOf(cursors: readonly Cursor[]): OutboxRow | undefined {
  let first: OutboxRow | undefined;
  for (const { row } of cursors) if (row && (!first || row.name < first.name)) first = row;
  return first;
}

/** Position in one recipient's listing. */
class Cursor {
  readonly #pages: AsyncIterator<readonly StagedFile[]>;
  readonly #owner: string;
  #page: readonly StagedFile[] = [];
  #index = 0;
  ended = false;

  constructor(pages: AsyncIterable<readonly StagedFile[]>, owner: string) {
    this.#pages = pages[Symbol.asyncIterator]();
    this.#owner = owner;
  }

  get row(): OutboxRow | undefined {
    const file = this.#page[this.#index];
    return file && { ...file, owner: this.#owner };
  }

  async fill(): Promise<void> {
    while (!this.ended && this.#index >= this.#page.length) {
      const next = await this.#pages.next();
      this.ended = next.done === true;
      this.#page = next.done ? [] : next.value;
      this.#index = 0;
    }
  }

  skip(name: string): void {
    if (this.#page[this.#index]?.name === name) this.#index += 1;
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }
}
