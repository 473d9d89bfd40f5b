import type { ReceiptClaim } from '../errors.ts';

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

/** What a file must be; `undefined`: it is not known. A promise: it becomes known while the file comes. */
export type Expectation = Expected | undefined | Promise<Expected | undefined>;

/** How a file was compared: by CRC-64/NVME and SHA-256 of its header, which show accidents but no forgery. */
export type Verified = 'bytes';
