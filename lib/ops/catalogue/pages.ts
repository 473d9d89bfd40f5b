/**
 * The rows of a query, page after page.
 * @param start place before the first row
 * @param read the rows behind a place
 * @param placeOf where the next page begins
 * @param full rows of a page behind which there may be another one
 */
export async function* pages<Row>(
  start: string,
  read: (after: string) => Promise<readonly Row[]>,
  placeOf: (last: Row) => string,
  full = 1,
): AsyncGenerator<Row> {
  for (let after = start; ; ) {
    const rows = await read(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < full) return;
    after = placeOf(last);
  }
}
