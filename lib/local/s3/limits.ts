/** Limits of S3 that callers meet (S3 user guide, "Multipart upload limits" and the API reference). Sizes in bytes. */
export const s3Limits = {
  /** UTF-8 bytes of a key. */
  keyBytes: 1024,
  /** Names and values of all `x-amz-meta-` headers together. */
  metadataBytes: 2048,
  /** One PutObject, or one part. */
  bodyBytes: 5 * 1024 ** 3,
  /** Every part but the last. */
  leastPartBytes: 5 * 1024 ** 2,
  /** Numbers of parts begin at 1. */
  parts: 10_000,
  /** Rows of one page of a listing, and keys of one DeleteObjects. */
  page: 1000,
  /** The body of a request that carries XML. 10,000 parts need less than 2 MB. */
  documentBytes: 4 * 1024 ** 2,
} as const;
