/**
 * Run `task` for every item, at most `limit` at a time. After the first failure no task starts. Those in flight
 * end, then that failure is thrown. So nothing runs any more when this returns or throws.
 */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  limit: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const worker = async () => {
    while (!failure) {
      const next = iterator.next();
      if (next.done) return;
      try {
        await task(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (failure) throw failure.error;
}
