import type { DeliveredFile, DeliveryReceipt, MissingFile } from '../../../contract/delivery.ts';
import { parseOutboxKey } from '../../../contract/outbox-key.ts';
import { unavailable } from '../../../errors.ts';
import type { RequestedFile } from './receipt-files.ts';

/** What a receipt says of its request. `requestedAt` is ISO 8601. */
export type DeliveredRequest = Readonly<
  Record<'requestId' | 'requestedAt' | 'datasetId' | 'keyFingerprint', string> & {
    revision: number;
    kind: 'dataset' | 'file';
  }
>;

/** What a receipt says besides its request and files. `issuer` is the id of the service. */
type Issued = Pick<DeliveryReceipt, 'part' | 'parts'> & { issuer: string; issuedAt: Date; isComplete: boolean };

export type Entry = { readonly file: DeliveredFile } | { readonly missing: MissingFile };

/** The files of one receipt, each as a line of JSON from the moment that it is read: 100,000 objects would take half of the memory. */
export class ReceiptLines {
  readonly #files: Buffer[] = [];
  readonly #missing: Buffer[] = [];

  get count(): number {
    return this.#files.length + this.#missing.length;
  }

  add(entry: Entry): void {
    const [lines, row] = 'file' in entry ? [this.#files, entry.file] : [this.#missing, entry.missing];
    lines.push(Buffer.from(`${lines.length > 0 ? ',' : ''}\n${JSON.stringify(row)}`));
  }

  /** The payload of the receipt, as JSON. */
  payload(request: DeliveredRequest, { issuer, issuedAt, isComplete, ...part }: Issued): Buffer {
    const head: Omit<DeliveryReceipt, 'files' | 'missing' | 'complete'> = {
      iss: issuer,
      iat: Math.floor(issuedAt.getTime() / 1000),
      jti: request.requestId,
      requested_at: request.requestedAt,
      generation: request.revision,
      ...part,
      dataset: request.datasetId,
      kind: request.kind,
      key_fingerprint: request.keyFingerprint,
    };
    return Buffer.concat([
      Buffer.from(`${JSON.stringify(head).slice(0, -1)},"files":[`),
      ...this.#files,
      Buffer.from('\n],"missing":['),
      ...this.#missing,
      Buffer.from(`\n],"complete":${isComplete}}\n`),
    ]);
  }
}

/**
 * Decide on one file of a request. Of a container that was written several times, the newest wins: it is the one in the
 * outbox.
 *
 * @throws temporarily_unavailable when a newer request has written the container and not recorded it yet
 */
export function entryOf(requested: RequestedFile, { keyFingerprint }: Pick<DeliveredRequest, 'keyFingerprint'>): Entry {
  const { state, reason, newest, supersededBy, supersederState = 'none' } = requested;
  if (state === 'rejected') return missing(requested, reason ?? state);
  if (state !== 'staged' && state !== 'superseded') return missing(requested, state);
  if (newest?.keyFingerprint === keyFingerprint) return { file: delivered(requested, newest) };
  if (newest) return missing(requested, 'superseded', newest.requestId);
  // Withdrawn, or superseded in its turn, after it was in the way.
  const isAwaited = ['waiting', 'sent', 'staged'].includes(supersederState);
  if (state === 'superseded' && !isAwaited) return missing(requested, 'superseded', supersededBy);
  throw unavailable('a newer request has not recorded yet what it staged');
}

function missing({ fileId, path }: RequestedFile, reason: string, by?: string): Entry {
  return { missing: { file_id: fileId, path, reason, ...(by !== undefined && { by }) } };
}

function delivered(
  { fileId, path, plaintextSize, plaintextSha256 }: RequestedFile,
  { outboxKey, size, crc64nvme, headerSha256 }: NonNullable<RequestedFile['newest']>,
): DeliveredFile {
  const name = parseOutboxKey(outboxKey)?.name;
  if (name === undefined) throw new TypeError(`a row has an outbox key of another form: ${outboxKey}`);
  return {
    name,
    file_id: fileId,
    path,
    size,
    ...(plaintextSize !== undefined && { plaintext_size: plaintextSize }),
    ...(plaintextSha256 !== undefined && { plaintext_sha256: plaintextSha256 }),
    ...(crc64nvme !== undefined && { crc64nvme }),
    header_sha256: headerSha256,
  };
}

/** What the files of a request count, up to the last one that was read. */
export type Tally = { staged: number; stagedBytes: number; missing: number; withdrawn: number };

export function addTo(tally: Tally, entry: Entry): void {
  if ('file' in entry) {
    tally.staged += 1;
    tally.stagedBytes += entry.file.size;
  } else {
    tally.missing += 1;
    if (entry.missing.reason === 'withdrawn') tally.withdrawn += 1;
  }
}

/** How a request ended. */
export function stateOf({ missing, withdrawn }: Tally): 'complete' | 'incomplete' | 'withdrawn' {
  if (missing === 0) return 'complete';
  return missing === withdrawn ? 'withdrawn' : 'incomplete';
}
