/** State of a request in `data_out.requests`. Until it is settled, it is `accepted`. */
export const requestStates = ['accepted', 'rejected', 'complete', 'incomplete', 'withdrawn'] as const;
export type RequestState = (typeof requestStates)[number];

/** State of a file in `data_out.request_files`. A file that is `waiting` or `sent` is open; the other states are ends. */
export const rowStates = ['waiting', 'sent', 'staged', 'superseded', 'withdrawn', 'rejected', 'given_up'] as const;
export type RowState = (typeof rowStates)[number];

/** Most files that one delivery receipt lists. A larger request has several receipts. */
export const filesPerReceipt = 100_000;

/** Ending of the outbox name of a delivery receipt. */
export const receiptSuffix = '.delivery.jws';

/** Media type of a delivery receipt (RFC 7515 § 9.2.1). */
export const receiptMediaType = 'application/jose';

/** `typ` of a delivery receipt. */
export const receiptType = 'data-out-delivery+jwt';

/** `typ` of the statement of a receipt key that the key with the thumbprint `jkt` comes after it: a compact JWS, ES256. */
export const endorsementType = 'data-out-key+jwt';

/** Whether an outbox name is that of a delivery receipt. */
export function isReceiptName(name: string): boolean {
  return name.endsWith(receiptSuffix);
}

/** Payload of a delivery receipt: a compact JWS (RFC 7515), ES256, `typ` `data-out-delivery+jwt`. Times are ISO 8601. */
export interface DeliveryReceipt {
  /** Service id, as `GET /service-info` says it. */
  readonly iss: string;
  /** When it was signed, seconds since 1970 (RFC 7519 § 4.1.6). */
  readonly iat: number;
  /** Request id. */
  readonly jti: string;
  readonly requested_at: string;
  /** The revision of the request. It is 1 at first and higher whenever the request is settled again; it may skip numbers. */
  readonly generation: number;
  /** Which of the request's receipts this is, from 1. Absent when there is only one. The last part is written last. */
  readonly part?: number;
  /** How many receipts the request has. A reader has all of it once it has every part of one generation. */
  readonly parts?: number;
  /** Stable id, `EGAD…`. */
  readonly dataset: string;
  /** What was asked for. */
  readonly kind: 'dataset' | 'file';
  /** SHA-256 of the recipient's raw public key, hex. */
  readonly key_fingerprint: string;
  /**
   * Whether every file of the request is in the outbox with the listed bytes. The last part speaks of all of them. The others say
   * `false`, because the files after theirs were not looked at yet.
   */
  readonly complete: boolean;
  /** In the order of the file ids. */
  readonly files: readonly DeliveredFile[];
  /** In the order of the file ids. */
  readonly missing: readonly MissingFile[];
}

export interface DeliveredFile {
  /** Outbox name of the container. */
  readonly name: string;
  /** Stable id, `EGAF…`. */
  readonly file_id: string;
  /** As the submitter gave it. */
  readonly path: string;
  /** Bytes of the container. */
  readonly size: number;
  /** Bytes; absent when the catalogue does not say. */
  readonly plaintext_size?: number;
  /** SHA-256, hex; absent when the catalogue does not say. */
  readonly plaintext_sha256?: string;
  /** CRC-64/NVME of the container, base64; absent when S3 has none. */
  readonly crc64nvme?: string;
  /** SHA-256 of the container's Crypt4GH header, hex. */
  readonly header_sha256: string;
}

export interface MissingFile {
  readonly file_id: string;
  readonly path: string;
  /** `superseded`, `withdrawn`, `given_up` or the reason of a rejection. */
  readonly reason: string;
  /** The newer request, for `superseded`. */
  readonly by?: string;
}
