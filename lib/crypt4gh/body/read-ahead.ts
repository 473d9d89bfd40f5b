/**
 * The results of `read` for each item, in the order of the items. Reads run ahead of the results that are taken. A new read
 * begins when the next result is asked for; none begins after an early end of the iteration or an error, which follows all
 * results before it.
 *
 * @param inFlight most results at a time that are under way or in use, which bounds the memory; 1: nothing is read ahead. A
 * function is asked before each read.
 */
export async function* readAhead<Item, Result>(
  items: Iterable<Item>,
  inFlight: number | (() => number),
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const most = typeof inFlight === 'number' ? () => inFlight : inFlight;
  const underWay: Promise<Result>[] = [];
  for (const item of items) {
    const result = read(item);
    // Awaited below, unless an earlier read fails or the reader stops.
    result.catch(() => undefined);
    underWay.push(result);
    while (underWay.length >= most()) yield (await underWay.shift()) as Result;
  }
  while (underWay.length > 0) yield (await underWay.shift()) as Result;
}
