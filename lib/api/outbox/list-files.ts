import { isReceiptName, receiptMediaType } from '../../contract/delivery.ts';
import { commonHeaders, type HttpReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { slice } from '../pages.ts';
import type { OutboxReader } from '../ports.ts';
import { type Access, accessOf, callerOf } from './caller.ts';
import { mergedListing, type OutboxRow } from './merged-listing.ts';
import { type Page, parsePage } from './paging.ts';

/** What `GET /files` needs. */
export interface FilesEndpoint {
  readonly rules: VisaRules;
  readonly outbox: Pick<OutboxReader, 'list'>;
  /** Days after which the bucket's lifecycle rule removes a container. */
  readonly expiryDays: number;
  /** Called once, when the listing has ended or has broken off. */
  readonly served: (access: ListingAccess) => void;
}

/** A listing and its caller, for the log. */
export interface ListingAccess extends Access {
  readonly page: number;
  /** Rows that were handed over. */
  readonly rows: number;
}

/**
 * `GET /files?inbox=false[&page][&per_page][&after]`: the caller's outbox, as the field's clients read it. The first rows are
 * read before this resolves, so that an S3 failure still becomes a status. A later failure makes the body throw: the reply
 * must then break off rather than end as valid JSON.
 * @throws UnauthenticatedError, InvalidRequestError, TemporarilyUnavailableError
 */
export async function listFiles(
  request: HttpRequest,
  { rules, outbox, expiryDays, served }: FilesEndpoint,
): Promise<HttpReply<AsyncIterable<string>>> {
  const caller = await callerOf(request, rules);
  const { recipients } = caller;
  const page = parsePage(request);
  const rows = slice(mergedListing(outbox, recipients, page.after), page.page * page.perPage, page.perPage);
  const first = await rows.next();
  return {
    status: 200,
    headers: { ...commonHeaders(request.requestId), 'Content-Type': 'application/json' },
    body: listing(first, rows, page, expiryDays, (count) =>
      served({ ...accessOf(request, caller, recipients), page: page.page, rows: count }),
    ),
  };
}

async function* listing(
  first: IteratorResult<readonly OutboxRow[], void>,
  rest: AsyncGenerator<readonly OutboxRow[], void>,
  { page }: Page,
  expiryDays: number,
  ended: (rows: number) => void,
): AsyncGenerator<string> {
  let count = 0;
  // Entries of one S3 page are written at once: a write for each would cost more than the entry.
  const entries = (rows: readonly OutboxRow[]) => {
    count += rows.length;
    return rows.map((row) => JSON.stringify(entry(row, expiryDays))).join(',');
  };
  try {
    yield `{"statusCode":200,"statusText":"OK","files":[${first.done ? '' : entries(first.value)}`;
    for await (const rows of rest) yield `,${entries(rows)}`;
    yield `],"page":${JSON.stringify(String(page))}}`;
  } finally {
    ended(count);
  }
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
