/**
 * The rows of a query, page after page, from the place `start` on: `read` gives the rows behind a place, and `placeOf` says where the
 * next page begins.
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
