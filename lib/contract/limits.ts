/** Limits that callers meet; `docs/api.md` lists them. Sizes in bytes. */
export const limits = {
  /** Body of `POST /export/{archive_kind}`. */
  exportBodyBytes: 64 * 1024,
  /** A visa, also one inside a passport; the visa or passport of an export request. */
  visaBytes: 16_384,
  /** A passport where it travels in a body. In a header, `requestHeaderBytes` are the limit. */
  passportBytes: 262_144,
  /** Visas in one passport. */
  visasPerPassport: 200,
  /** Passports in the body of one DRS request. */
  passportsPerRequest: 10,
  /** Visas in all passports of one DRS request: each costs the check of a signature. */
  visasPerRequest: 200,
  /** Objects and lists inside one another in a JSON document that a caller sends, also inside a token. */
  jsonDepth: 8,
  /** The request line and all headers of one request together, names included: what API Gateway takes. */
  requestHeaderBytes: 10_240,
  /** Characters of a dataset or file identifier. */
  identifierLength: 256,
  /** Rows of one page of `GET /files` and of a dataset's files, and the default. */
  filesPerPage: 50_000,
  /** Files of a dataset in one reply without pages: 200 MB hold them where a path has up to some 150 characters. */
  filesWithoutPages: 300_000,
  /** Files of one export of a dataset, whose receipt has 20 parts. */
  filesPerExport: 2_000_000,
  /** Rows of one page of `GET /export/{archive_kind}`. */
  exportsPerPage: 100,
  /** Files of one page of `GET /export/{archive_kind}/{requestId}`. */
  exportedFilesPerPage: 1_000,
  /** Pages of both, from 0: the database counts the rows of all pages before. */
  lastExportPage: 9_999,
  /**
   * A Crypt4GH header in the catalogue; one for a single reader has 124 bytes. A request to the RDS Data API has at
   * most 4 MiB, and the header travels in hex.
   */
  headerBytes: 1_500_000,
  /** Characters of an outbox file name. */
  fileNameLength: 255,
  /** A reply that is streamed through a function: AWS Lambda breaks off at 200 MB. */
  streamedReplyBytes: 200_000_000,
  /** A Crypt4GH container that is streamed: AWS Lambda slows a reply down to 2 MB/s after its first 6 MB. */
  streamedContainerBytes: 6_000_000,
} as const;
