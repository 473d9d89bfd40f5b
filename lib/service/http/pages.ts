import { limits } from '../../contract/limits.ts';
import { invalidRequest } from '../../errors.ts';
import { commonHeaders, type HttpReply } from './reply.ts';
import { type HttpRequest, singleQuery } from './request.ts';

/**
 * `per_page` of a listing: 1 to 50,000 rows, and as many where it is absent. The stock client of the field sends 0 when it
 * means the default, so it gets it. A page size above the limit is refused, not cut: clients take a page that is shorter
 * than they asked for as the last one.
 */
export function rowsPerPage(request: HttpRequest): number {
  const rows = wholeNumber(request, 'per_page');
  if (rows > limits.filesPerPage) {
    throw invalidRequest([{ field: 'per_page', message: `must not be greater than ${limits.filesPerPage}` }]);
  }
  return rows > 0 ? rows : limits.filesPerPage;
}

/** Nine digits: `page * perPage` stays an exact number. Absent: 0. */
export function wholeNumber(request: HttpRequest, name: string): number {
  const value = singleQuery(request, name) ?? '0';
  if (!/^-?\d{1,9}$/.test(value)) throw invalidRequest([{ field: name, message: 'must be a whole number' }]);
  return Number(value);
}

/** Rows [skip, skip + count) of the batches; stops asking for more once it has them. */
export async function* slice<T>(
  batches: AsyncIterable<readonly T[]>,
  skip: number,
  count: number,
): AsyncGenerator<readonly T[]> {
  let position = 0;
  for await (const batch of batches) {
    const rows = batch.slice(Math.max(skip - position, 0), Math.max(skip + count - position, 0));
    position += batch.length;
    if (rows.length > 0) yield rows;
    if (position >= skip + count) return;
  }
}

interface List<Row> {
  /** The JSON before and behind the entries. */
  readonly around: readonly [string, string];
  readonly entry: (row: Row) => unknown;
  /** Called once, when the listing has ended or has broken off, with the number of rows that were handed over. */
  readonly ended: (rows: number) => void;
}

/**
 * A JSON document with a list, sent page by page. The first page is read before this resolves, so that a failure until then still
 * becomes a status. A later failure makes the body throw: the reply must then break off rather than end as valid JSON.
 */
export async function listReply<Row>(
  requestId: string,
  pages: AsyncIterable<readonly Row[]>,
  list: List<Row>,
): Promise<HttpReply<AsyncIterable<string>>> {
  const rest = pages[Symbol.asyncIterator]();
  const first = await rest.next();
  const headers = { ...commonHeaders(requestId), 'Content-Type': 'application/json' };
  return { status: 200, headers, body: listing(first, rest, list) };
}

async function* listing<Row>(
  first: IteratorResult<readonly Row[], unknown>,
  rest: AsyncIterator<readonly Row[]>,
  { around: [head, tail], entry, ended }: List<Row>,
): AsyncGenerator<string> {
  let rows = 0;
  try {
    for (let page = first; !page.done; page = await rest.next()) {
      if (page.value.length === 0) continue;
      const before = rows === 0 ? head : ',';
      rows += page.value.length;
      // Entries of one page are written at once: a write for each would cost more than the entry.
      yield before + page.value.map((row) => JSON.stringify(entry(row))).join(',');
    }
    yield rows === 0 ? head + tail : tail;
  } finally {
    ended(rows);
    await rest.return?.();
  }
}
