import { isReceiptName, receiptMediaType } from '../../contract/delivery.ts';
import { isOutboxFileName } from '../../contract/outbox-key.ts';
import { invalidRequest } from '../../errors.ts';
import type { VisaRules } from '../../visas/index.ts';
import { listReply, rowsPerPage, slice, wholeNumber } from '../http/pages.ts';
import type { HttpReply } from '../http/reply.ts';
import { flagQuery, type HttpRequest, readAll, singleQuery } from '../http/request.ts';
import { type Access, accessOf, callerOf, type Recipient } from './caller.ts';
import type { OutboxReader, StagedFile } from './ports.ts';

export interface FilesEndpoint {
  readonly rules: VisaRules;
  readonly outbox: Pick<OutboxReader, 'list'>;
  /** Days after which the bucket's lifecycle rule removes a container. */
  readonly expiryDays: number;
  readonly served: (access: ListingAccess) => void;
}

export interface ListingAccess extends Access {
  readonly page: number;
  readonly rows: number;
}

/**
 * `GET /files?inbox=false[&page][&per_page][&after][&receipts]`: the caller's outbox, as the field's clients read it, by
 * {@link listReply}.
 */
export async function listFiles(
  request: HttpRequest,
  { rules, outbox, expiryDays, served }: FilesEndpoint,
): Promise<HttpReply<AsyncIterable<string>>> {
  const caller = await callerOf(request, rules);
  const { recipients } = caller;
  const page = parsePage(request);
  const listing = mergedListing(outbox, recipients, page.after);
  const wanted = page.receipts ? listing : containersOf(listing);
  const rows = slice(wanted, page.page * page.perPage, page.perPage);
  return listReply(request.requestId, rows, {
    around: ['{"statusCode":200,"statusText":"OK","files":[', `],"page":${JSON.stringify(String(page.page))}}`],
    entry: (row) => entry(row, expiryDays),
    ended: (count) => served({ ...accessOf(request, caller, recipients), page: page.page, rows: count }),
  });
}

function entry(row: OutboxRow, expiryDays: number) {
  const isReceipt = isReceiptName(row.name);
  return {
    fileName: row.name,
    size: row.size,
    modifiedDate: row.lastModified.toISOString(),
    // A relative reference (RFC 3986 § 4.2): resolves against the URL of the listing, under any stage or domain.
    href: `stream/${encodeURIComponent(row.name)}`,
    exportable: true,
    reason: null,
    mimeType: isReceipt ? receiptMediaType : 'application/octet-stream',
    owner: row.owner,
    expiryDate: expiryDate(row.lastModified, expiryDays).toISOString(),
    // Lets clients keep the receipts that they have read. Containers are not read twice, and listings can be long.
    ...(isReceipt && { etag: row.etag }),
  };
}

/** When a lifecycle rule removes an object: `days` after it was made, rounded up to midnight UTC. */
export function expiryDate(created: Date, days: number): Date {
  const day = 24 * 60 * 60 * 1000;
  return new Date(Math.ceil((created.getTime() + days * day) / day) * day);
}

/** Which rows of a listing are wanted: `perPage` rows after `page * perPage` of those that follow `after`. */
export interface Page {
  readonly page: number;
  /** 1 to 50,000. */
  readonly perPage: number;
  /** A file name. `undefined`: the rows begin with the first. */
  readonly after: string | undefined;
  /** Whether delivery receipts are listed among the containers. */
  readonly receipts: boolean;
}

/**
 * `inbox`, `page`, `per_page`, `after` and `receipts` of `GET /files`. The stock client of the field sends `page=-1` when it means the
 * default, so it gets it.
 */
export function parsePage(request: HttpRequest): Page {
  const { inbox: _, ...page } = readAll({
    inbox: () => requireOutbox(request),
    page: () => Math.max(wholeNumber(request, 'page'), 0),
    perPage: () => rowsPerPage(request),
    after: () => nameBefore(request),
    receipts: () => flagQuery(request, 'receipts', false),
  });
  return page;
}

function nameBefore(request: HttpRequest): string | undefined {
  const after = singleQuery(request, 'after');
  if (after === undefined || isOutboxFileName(after)) return after;
  throw invalidRequest([{ field: 'after', message: 'must be a fileName of the listing' }]);
}

/** There is no inbox behind this proxy, and clients in the field take an absent `inbox` to mean it. */
function requireOutbox(request: HttpRequest): void {
  const inbox = singleQuery(request, 'inbox');
  if (inbox?.toLowerCase() === 'false') return;
  const message =
    inbox === undefined ? 'is missing: only inbox=false is served' : 'must be false: there is no inbox here';
  throw invalidRequest([{ field: 'inbox', message }]);
}

/** The listing without delivery receipts, which a client that decrypts whatever is listed could not read. */
async function* containersOf(listing: AsyncIterable<readonly OutboxRow[]>): AsyncGenerator<readonly OutboxRow[]> {
  for await (const rows of listing) yield rows.filter(({ name }) => !isReceiptName(name));
}

export interface OutboxRow extends StagedFile {
  readonly owner: string;
}

/**
 * All containers and receipts of the recipients in name order. A name that several recipients have appears once, with the container of
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
  const listings = recipients.map(({ prefix, sub: owner }) => ({
    owner,
    pages: outbox.list(prefix, after)[Symbol.asyncIterator](),
    rows: [] as readonly StagedFile[],
  }));
  try {
    for (;;) {
      const spent = listings.filter(({ rows }) => rows.length === 0);
      await Promise.all(spent.map(async (listing) => (listing.rows = await nextRows(listing.pages))));
      // What is still to be read of a listing follows its last row here. Names are ASCII, so S3 also sorts them by code units.
      const ends = listings.flatMap(({ rows }) => rows.at(-1)?.name ?? []);
      if (ends.length === 0) return;
      const end = ends.reduce((least, name) => (name < least ? name : least));
      const batch = new Map<string, OutboxRow>();
      for (const listing of listings) {
        const count = listing.rows.findLastIndex(({ name }) => name <= end) + 1;
        for (const file of listing.rows.slice(0, count)) {
          if (!batch.has(file.name)) batch.set(file.name, { ...file, owner: listing.owner });
        }
        listing.rows = listing.rows.slice(count);
      }
      yield [...batch.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    }
  } finally {
    await Promise.all(listings.map(async ({ pages }) => await pages.return?.()));
  }
}

async function nextRows(pages: AsyncIterator<readonly StagedFile[]>): Promise<readonly StagedFile[]> {
  for (;;) {
    const { done, value } = await pages.next();
    if (done) return [];
    if (value.length > 0) return value;
  }
}
