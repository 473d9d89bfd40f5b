import fc from 'fast-check';

/** Crypt4GH § 4.2 word for word: skip and keep in turn over an array of bytes. */
export function applyPlainly(plaintext: Buffer, editList: readonly bigint[]): Buffer {
  if (editList.length === 0) return plaintext;
  const kept: Buffer[] = [];
  let rest = plaintext;
  const take = (length: bigint) => {
    const count = length > BigInt(rest.length) ? rest.length : Number(length);
    const taken = rest.subarray(0, count);
    rest = rest.subarray(count);
    return taken;
  };
  for (const [index, length] of editList.entries()) {
    const taken = take(length);
    if (index % 2 === 1) kept.push(taken);
  }
  if (editList.length % 2 === 1) kept.push(rest);
  return Buffer.concat(kept);
}

const lengths = fc.oneof(
  fc.constantFrom(0n, 1n, 65_535n, 65_536n, 65_537n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n),
  fc.bigInt({ min: 0n, max: 1_000n }),
  fc.bigInt({ min: 0n, max: 100_000n }),
);

/** Edit lists of odd and even counts, with lengths around segments and beyond any file. */
export const editLists = fc.array(lengths, { maxLength: 12 });
