import type { ReceiptClaim } from '../errors.ts';

/** What a file must be, from a source that the user trusts. */
export type Expected = (ExpectedPlaintext | ExpectedContainer) & {
  /** The delivery receipt that says so; default: the service lists it. */
  readonly receipt?: ReceiptClaim | undefined;
};

/** What a file must be; `undefined`: it is not known. A promise: it becomes known while the file comes. */
export type Expectation = Expected | undefined | Promise<Expected | undefined>;

export interface ExpectedPlaintext {
  /** SHA-256 in lower-case hex of the whole local file. */
  readonly sha256: string;
}

export interface ExpectedContainer {
  /** Bytes of the container. */
  readonly size: number;
  /** SHA-256 of its Crypt4GH header in lower-case hex. */
  readonly headerSha256: string;
  /** CRC-64/NVME of the container, base64 as S3 writes it; `undefined`: not known, so the file cannot be verified. */
  readonly crc64nvme?: string | undefined;
}

/**
 * How a file was compared: by the SHA-256 of its plaintext, or by CRC-64/NVME of the container and SHA-256 of its header,
 * which show accidents but no forgery.
 */
export type Verified = 'plaintext' | 'bytes';
