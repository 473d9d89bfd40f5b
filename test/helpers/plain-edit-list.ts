/** Crypt4GH § 4.2 as it is written, over bytes in memory: skip and keep in turn. What tests compare the library with. */
export function keptOf(plaintext: Buffer, editList: readonly bigint[]): Buffer {
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
