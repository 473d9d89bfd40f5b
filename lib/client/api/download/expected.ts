import { ChecksumError, type ReceiptClaim } from '../errors.ts';

/** What a delivery receipt says that a container must be. */
export interface Expected {
  /** Bytes. */
  readonly size: number;
  /** SHA-256 of its Crypt4GH header in lower-case hex. */
  readonly headerSha256: string;
  /** CRC-64/NVME, base64 as S3 writes it; `undefined`: not known, so the file cannot be verified. */
  readonly crc64nvme?: string | undefined;
  readonly receipt: ReceiptClaim;
}

/** How a file was compared: by CRC-64/NVME and SHA-256 of its header, which show accidents but no forgery. */
export type Verified = 'bytes';

const kinds = { size: 'size', headerSha256: 'header SHA-256', crc64nvme: 'CRC-64/NVME' } as const;

/**
 * Compares a container with its receipt.
 * @returns `undefined` if the receipt says too little to call the file verified
 * @throws ChecksumError
 */
export function compared(
  name: string,
  expected: Expected,
  found: { readonly [Kind in keyof typeof kinds]: string | number },
): Verified | undefined {
  for (const kind of ['size', 'headerSha256', 'crc64nvme'] as const) {
    const [listed, got] = [expected[kind], found[kind]];
    if (listed === undefined || listed === got) continue;
    const difference = { kind: kinds[kind], listed: String(listed), found: String(got || 'none') };
    throw new ChecksumError(name, difference, expected.receipt);
  }
  return expected.crc64nvme === undefined ? undefined : 'bytes';
}
