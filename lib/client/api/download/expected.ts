import type { DeliveredFile } from '../../../contract/delivery.ts';
import { ClientError } from '../errors.ts';

/** What a verified delivery receipt says of a file. */
export interface Expected {
  readonly file: DeliveredFile;
  /** Of the receipt. */
  readonly requestId: string;
  /** What to do if the file differs. */
  readonly remedy: string;
}

/** What was found of a container. */
interface Found {
  /** Bytes. */
  readonly size: number;
  /** Empty if it does not begin with a Crypt4GH header. */
  readonly headerSha256: string;
  /** Base64; `undefined`: not looked at. */
  readonly crc64nvme?: string | undefined;
}

/** How a file was compared: by CRC-64/NVME and SHA-256 of its header, which show accidents but no forgery. */
export type Verified = 'bytes';

/** In what a container differs from its receipt, for people; `undefined` if nothing that the receipt lists differs. */
export function differenceOf(file: DeliveredFile, { size, headerSha256, crc64nvme }: Found): string | undefined {
  if (size !== file.size) return `it has ${size} bytes, and not ${file.size}`;
  if (headerSha256 !== file.header_sha256) return 'its header has another SHA-256';
  const isOther = crc64nvme !== undefined && file.crc64nvme !== undefined && crc64nvme !== file.crc64nvme;
  return isOther ? 'its bytes have another CRC-64/NVME' : undefined;
}

/**
 * Compares a downloaded container with its receipt.
 * @returns `undefined` if the receipt says too little to call the file verified
 * @throws ClientError `not_verified`: nothing of the file can be used
 */
export function compared(expected: Expected, found: Found): Verified | undefined {
  const { file, requestId, remedy } = expected;
  const difference = differenceOf(file, found);
  if (difference === undefined) return file.crc64nvme === undefined ? undefined : 'bytes';
  const message = `${file.name}: the file received differs from delivery receipt ${requestId}: ${difference}`;
  throw new ClientError('not_verified', message, { remedy });
}
