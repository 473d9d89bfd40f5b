import { BoundedMap } from './recent.ts';

/** CRC-64/NVME, the checksum that S3 keeps of every object. As a number: 64 bits, not negative. */

/** Polynomial, with the bit of the highest power last. */
const polynomial = 0x9a6c_9329_ac4b_c9b5n;
/** `x^0` in that order of bits. */
const one = 1n << 63n;

/** The CRC of nothing. */
export const emptyCrc = 0n;

export async function crcOf(bytes: Uint8Array): Promise<bigint> {
  // Loaded here: the client only combines CRCs, and holds no part of the AWS SDK.
  const { Crc64NvmeJs } = await import('@aws-sdk/checksums/crc');
  const crc = new Crc64NvmeJs();
  crc.update(bytes);
  return Buffer.from(await crc.digest()).readBigUInt64BE();
}

/** The CRC of two runs of bytes, one behind the other, from the CRC of each: no byte is read. */
export function combinedCrc(first: bigint, second: bigint, secondLength: number): bigint {
  // Zero stays zero: a small file needs no power of its length.
  return first === emptyCrc ? second : multiply(first, powerOfBytes(secondLength)) ^ second;
}

/** As S3 writes it: base64 of the eight bytes, the highest first. */
export function formatCrc(crc: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(crc);
  return bytes.toString('base64');
}

/** The reverse of {@link formatCrc}. @throws RangeError when the text is not the base64 of eight bytes */
export function parseCrc(text: string): bigint {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 8) throw new RangeError(`expected the base64 of 8 bytes, got ${JSON.stringify(text)}`);
  return bytes.readBigUInt64BE();
}

const powers = new BoundedMap<number, bigint>(1000);

/** `x` to the power of eight times `length`, modulo the polynomial. Few lengths occur, and those often. */
function powerOfBytes(length: number): bigint {
  const known = powers.get(length);
  if (known !== undefined) return known;
  let power = one;
  let square = one >> 8n;
  for (let rest = length; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  powers.set(length, power);
  return power;
}

function multiply(left: bigint, right: bigint): bigint {
  let product = 0n;
  let shifted = right;
  for (let bit = one; bit > 0n; bit >>= 1n) {
    if (left & bit) product ^= shifted;
    shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n;
  }
  return product;
}
