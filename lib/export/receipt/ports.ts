import type { OutboxWriter } from '../../archive/ports.ts';
import type { FileState, RequestState } from '../../contract/delivery.ts';

/** A request whose files are all known to the log (it is sealed). */
export interface SealedRequest {
  readonly requestId: string;
  /** ISO 8601. */
  readonly requestedAt: string;
  readonly kind: 'dataset' | 'file';
  /** Stable id, `EGAD…`. */
  readonly datasetId: string;
  /** Stable id, `EGAF…`; `undefined` for a dataset. */
  readonly fileId: string | undefined;
  /** Outbox prefix. */
  readonly recipient: string;
  /** Fingerprint of the recipient's public key. */
  readonly keyFingerprint: string;
  readonly state: RequestState;
  /** From 1. Higher whenever the request is to be settled again; it may skip numbers. */
  readonly generation: number;
  /** The last generation that was closed; 0: none. */
  readonly settledGeneration: number;
  /** Whether a file is not settled. */
  readonly isOpen: boolean;
}

/** A container in the outbox, as the request that wrote it last recorded it. */
export interface StagedContainer {
  readonly requestId: string;
  readonly keyFingerprint: string;
  readonly outboxKey: string;
  /** Bytes. */
  readonly size: number;
  /** CRC-64/NVME, base64; `undefined` when S3 has none. */
  readonly crc64nvme: string | undefined;
  /** SHA-256 of the header, hex. */
  readonly headerSha256: string;
}

/** A file of a request, and what is in the outbox under its name now. */
export interface RequestedFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  readonly state: FileState;
  /** Why it was rejected. Another state may have a reason, too, for operators. */
  readonly reason: string | undefined;
  /** As the submitter gave it. */
  readonly path: string;
  /** Bytes; `undefined` when the catalogue does not say. */
  readonly plaintextSize: number | undefined;
  /** Hex; `undefined` when the catalogue does not say. */
  readonly plaintextSha256: string | undefined;
  /** For `staged` and `superseded`: the newest container of this file, of this request or a newer one. */
  readonly newest: StagedContainer | undefined;
  /** For `superseded`: the request whose container was in the way, and the state of its row, if it has one. */
  readonly supersededBy: { readonly requestId: string; readonly state: FileState | undefined } | undefined;
}

/** How a request ended. */
export interface Settlement {
  readonly state: RequestState;
  /** Files that are in the outbox for this request's key. */
  readonly staged: number;
  /** Bytes of their containers. */
  readonly stagedBytes: number;
}

/** The log of requests and their files. Every method may throw TemporarilyUnavailableError. */
export interface DeliveryLog {
  /** @returns `undefined` for a request that is unknown, not sealed, rejected or without files */
  find(requestId: string): Promise<SealedRequest | undefined>;
  /** All files in the order of their ids, page after page; memory is bounded by one page. */
  files(requestId: string): AsyncIterable<readonly RequestedFile[]>;
  /**
   * Record how a generation ended, together with its audit row. May be repeated. The generation is not closed yet.
   *
   * @returns `false` when the request has a newer generation or an open file by now: nothing was changed
   */
  settle(request: Pick<SealedRequest, 'requestId' | 'generation'>, settlement: Settlement): Promise<boolean>;
  /**
   * Close a generation: nothing more is to be done for it.
   *
   * @param hasReceipt whether its receipt is in the outbox
   */
  close(request: Pick<SealedRequest, 'requestId' | 'generation'>, hasReceipt: boolean): Promise<void>;
}

/** What a receipt says of the key that signs it, in its protected header. */
export interface SignerIdentity {
  /** Thumbprint of the key (RFC 7638). */
  readonly kid: string;
  /** After a rotation: of each older key, oldest first, the signed statement that the next key comes after it. */
  readonly endorsements?: readonly string[];
}

/** Signs receipts: ES256 (RFC 7518 § 3.4). Every method may throw TemporarilyUnavailableError. */
export interface ReceiptSigner {
  identity(): Promise<SignerIdentity>;
  /** @param digest SHA-256 of the JWS signing input. @returns the 64 bytes of r and s */
  sign(digest: Uint8Array): Promise<Uint8Array>;
}

/** The outbox, as far as receipts are written to it. */
export type ReceiptOutbox = Pick<OutboxWriter, 'head' | 'put' | 'startUpload'>;
