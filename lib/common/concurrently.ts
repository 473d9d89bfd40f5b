/**
 * Run `task` for every item, at most `limit` at a time. After the first failure, of a task or of `items`, no task starts. Those in flight
 * end, then that failure is thrown. So nothing runs any more when this returns or throws.
 *
 * @param limit a function is asked before each start: a limit that has sunk lets the tasks in flight end
 */
export async function forEachConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number | (() => number),
  task: (item: T) => Promise<void>,
): Promise<void> {
  const most = typeof limit === 'number' ? () => limit : limit;
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const item of items) {
      while (running.size >= most()) await Promise.race(running);
      if (failure) break;
      const run: Promise<void> = task(item)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(run));
      running.add(run);
    }
  } finally {
    await Promise.all(running);
  }
  if (failure) throw failure.error;
}
