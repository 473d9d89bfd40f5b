import { createHash } from 'node:crypto';
import { limits } from './limits.ts';

/** Who a visa is about: `sub` is unique for its `iss` only. */
export interface Subject {
  readonly iss: string;
  readonly sub: string;
}

/** What an outbox file name may look like: one path segment of safe characters that does not begin with a dot. */
const fileName = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/**
 * The recipient's part of the outbox: SHA-256 over `iss` and `sub`, in hex (64 characters). The length of `iss` goes
 * first, so that different pairs never give the same bytes.
 */
export function outboxPrefix({ iss, sub }: Subject): string {
  return createHash('sha256')
    .update(`${Buffer.byteLength(iss)}:${iss}${sub}`)
    .digest('hex');
}

/** Whether `name` can be the name of a staged container; any other name is answered like a missing file. */
export function isOutboxFileName(name: string): boolean {
  return name.length <= limits.fileNameLength && fileName.test(name);
}

/** S3 key of a staged container. @throws RangeError when `name` is not one safe path segment. */
export function outboxKey(prefix: string, name: string): string {
  if (!isOutboxFileName(name)) throw new RangeError('expected an outbox file name: one segment of [A-Za-z0-9._-]');
  return `${prefix}/${name}`;
}

/** The reverse of {@link outboxKey}; `undefined` for a key that this service did not write. */
export function parseOutboxKey(key: string): { prefix: string; name: string } | undefined {
  const match = /^([0-9a-f]{64})\/([^/]+)$/.exec(key);
  const [, prefix, name] = match ?? [];
  return prefix && name && isOutboxFileName(name) ? { prefix, name } : undefined;
}

/** What the metadata of a container in the outbox says of it. */
export interface OutboxFacts {
  readonly requestId: string;
  /** ISO 8601. */
  readonly requestedAt: string;
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Stable id, `EGAD…`. */
  readonly datasetId: string;
  /** Fingerprint of the recipient's public key. */
  readonly keyFingerprint: string;
}

/** The S3 object metadata of a container. It travels in HTTP headers, so an id outside ASCII is percent-encoded. */
export function outboxMetadataOf(
  facts: OutboxFacts & { readonly headerSha256?: string },
): Readonly<Record<string, string>> {
  return {
    [outboxMetadata.requestId]: facts.requestId,
    [outboxMetadata.requestedAt]: facts.requestedAt,
    [outboxMetadata.fileId]: encodeURIComponent(facts.fileId),
    [outboxMetadata.datasetId]: encodeURIComponent(facts.datasetId),
    [outboxMetadata.keyFingerprint]: facts.keyFingerprint,
    ...(facts.headerSha256 !== undefined && { [outboxMetadata.headerSha256]: facts.headerSha256 }),
  };
}

/** The reverse of {@link outboxMetadataOf}. What the metadata lacks, or has in no form of ours, is left out. */
export function outboxFactsOf(metadata: Readonly<Record<string, string>>): Partial<OutboxFacts> {
  const { requestId, requestedAt, fileId, datasetId, keyFingerprint } = outboxMetadata;
  const facts = {
    requestId: uuid.exec(metadata[requestId] ?? '')?.[0],
    requestedAt: metadata[requestedAt],
    fileId: decoded(metadata[fileId]),
    datasetId: decoded(metadata[datasetId]),
    keyFingerprint: metadata[keyFingerprint],
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/** Whether two objects were written by the same export or, for receipts, for the same revision of its receipt. */
export function isOfSameWrite(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const { requestId, generation } = outboxMetadata;
  return [requestId, generation].every((name) => one[name] === other[name]);
}

/** A request id, in either case. */
export const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Names of the S3 object metadata (`x-amz-meta-…`) of a container and of a delivery receipt. */
export const outboxMetadata = {
  requestId: 'request-id',
  requestedAt: 'requested-at',
  fileId: 'file-id',
  datasetId: 'dataset-id',
  keyFingerprint: 'recipient-key',
  /** Of a staged container: SHA-256 of its header, hex. */
  headerSha256: 'header-sha256',
  /** Of a receipt: the revision of its request. Containers have none. */
  generation: 'generation',
  /** Of a receipt: what the files count that it and the parts before it list. */
  tally: 'tally',
} as const;
