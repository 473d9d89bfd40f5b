import { expect, test } from 'vitest';
import { limits } from '../../../../lib/contract/limits.ts';
import { wholeHeader } from '../../../../lib/service/catalogue/stored-header.ts';

const longest = 2 * limits.headerBytes;
/** A header of so many hex characters, read slice by slice. */
const read = (length: number) => {
  const hex = 'a'.repeat(length);
  const slice = (start: number) => hex.slice(start - 1, start - 1 + 32 * 1024);
  return wholeHeader('EGAF1', { header: slice(1), header_length: length, header_digest: null }, async (start) =>
    slice(start),
  );
};

test('a header may be as long as the limit, and no longer', async () => {
  expect(await read(longest)).toHaveLength(longest);
  await expect(read(longest + 1)).rejects.toThrow(`has ${longest + 1} hex characters, more than ${longest}`);
});
