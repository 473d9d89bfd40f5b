/**
 * What `read` gives for each item, in the order of the items. Reads run ahead of what is taken; the next ones begin when
 * more is asked for, and none after an error or when the iteration is ended early.
 *
 * @param inFlight most results that are under way or being used at a time, which bounds the memory; 1: nothing is read
 * ahead.
 * @throws what `read` throws, after all that came before it.
 */
export async function* readAhead<Item, Result>(
  items: Iterable<Item>,
  inFlight: number,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const underWay: Promise<Result>[] = [];
  for (const item of items) {
    const result = read(item);
    // Awaited below, unless one before it fails or the reader gives up.
    result.catch(() => undefined);
    underWay.push(result);
    if (underWay.length < inFlight) continue;
    const [first] = underWay.splice(0, 1);
    if (first !== undefined) yield await first;
  }
  while (underWay.length > 0) {
    const [first] = underWay.splice(0, 1);
    if (first !== undefined) yield await first;
  }
}
