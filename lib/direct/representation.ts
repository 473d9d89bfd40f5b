/**
 * Bytes that can be served whole or by range: a plaintext, a container, part of one. To make one reads no body: size and ETag
 * come from arithmetic and from the catalogue.
 */
export interface Representation {
  /** Bytes of the whole. */
  readonly size: number;
  /** Strong entity tag with its quotes (RFC 9110 § 8.8.3): other bytes have another one. */
  readonly etag: string;
  /** Media type of the bytes. */
  readonly mediaType: string;
  /** The name under which a browser saves the file: the submitter's base name, untrusted text. */
  readonly fileName: string;
  /**
   * Bytes [start, end), in order, in pieces of not much more than 1 MiB. Reads ahead of the consumer, and stops reading
   * when the iteration ends early.
   *
   * @throws ArchiveDamagedError, TemporarilyUnavailableError: also after some bytes; the reply must then break off
   */
  stream(start: number, end: number): AsyncIterable<Uint8Array>;
}
