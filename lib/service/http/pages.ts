import { limits } from '../../contract/limits.ts';
import { InvalidRequestError } from '../../errors.ts';
import { type HttpRequest, singleQuery } from './request.ts';

/**
 * `per_page` of a listing: 1 to 50,000 rows, and as many where it is absent. The stock client of the field sends 0 when it
 * means the default, so it gets it. A page size above the limit is refused, not cut: clients take a page that is shorter
 * than they asked for as the last one.
 * @throws InvalidRequestError
 */
export function rowsPerPage(request: HttpRequest): number {
  const rows = wholeNumber(request, 'per_page');
  if (rows > limits.filesPerPage) {
    throw new InvalidRequestError([{ field: 'per_page', message: `must not be greater than ${limits.filesPerPage}` }]);
  }
  return rows > 0 ? rows : limits.filesPerPage;
}

/** Nine digits: `page * perPage` stays an exact number. Absent: 0. @throws InvalidRequestError */
export function wholeNumber(request: HttpRequest, name: string): number {
  const value = singleQuery(request, name) ?? '0';
  if (!/^-?\d{1,9}$/.test(value)) throw new InvalidRequestError([{ field: name, message: 'must be a whole number' }]);
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
