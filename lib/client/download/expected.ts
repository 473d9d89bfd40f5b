import type { Target } from './disk/part-file.ts';

/** What a file must be, from a source that the user trusts. */
export type Expected = (ExpectedPlaintext | ExpectedContainer) & {
  /** When the source was made. A remote file that was replaced later may differ. Default: none may. */
  readonly asOf?: Date | undefined;
  /** Who says so, for errors: `the service lists`. */
  readonly source: string;
};

export interface ExpectedPlaintext {
  /** SHA-256 of the whole local file in lower-case hex. */
  readonly sha256: string;
}

export interface ExpectedContainer {
  /** CRC-64/NVME of the container, base64 as S3 writes it. */
  readonly crc64nvme: string;
  /** SHA-256 of its Crypt4GH header in lower-case hex. */
  readonly headerSha256: string;
}

/**
 * How a file was compared: by the SHA-256 of its plaintext, or by CRC-64/NVME of the container and SHA-256 of its header,
 * which show accidents but no forgery.
 */
export type Verified = 'plaintext' | 'bytes';

/** Digests a file while it is written. */
export interface Digest extends Target {
  /** What the file is; call it once, after the last write. @throws LocalDiskError; ClientError `interrupted` */
  found(signal: AbortSignal | undefined): Promise<ExpectedPlaintext | ExpectedContainer>;
}
