import { createHash, type Hash } from 'node:crypto';
import {
  type DeliveredFile,
  type DeliveryReceipt,
  type MissingFile,
  receiptSuffix,
} from '../../../contract/delivery.ts';
import { parseOutboxKey } from '../../../contract/outbox-key.ts';
import { unavailable } from '../../../errors.ts';
import { idPart } from '../../archive/container-name.ts';
import type { FannedOutRequest, RequestEnd, RequestedFile, StagedContainer } from '../ledger-port.ts';

/** Outbox name of a delivery receipt: `<id>-<request id>.delivery.jws`. @param id the dataset or file that was asked for */
export function receiptName(id: string, requestId: string): string {
  return `${idPart(id)}-${requestId}${receiptSuffix}`;
}

/** What a receipt says beside its request and files. */
export interface Issued {
  /** Service id. */
  readonly issuer: string;
  readonly issuedAt: Date;
}

/**
 * The payload of a delivery receipt, as text in pieces: one line for each file, `missing` and `complete` at the end. The
 * files are read once, and once more if some are missing, so that memory does not grow with their number.
 *
 * @param entries called for each reading
 * @param tally has counted every file when the payload ends
 * @throws `temporarily_unavailable` when the two readings differ
 */
export async function* receiptPayload(
  request: FannedOutRequest,
  { issuer, issuedAt }: Issued,
  entries: () => AsyncIterable<readonly Entry[]>,
  tally: Tally,
): AsyncGenerator<string> {
  const head: Omit<DeliveryReceipt, 'files' | 'missing' | 'complete'> = {
    iss: issuer,
    iat: Math.floor(issuedAt.getTime() / 1000),
    jti: request.requestId,
    requested_at: request.requestedAt,
    generation: request.receiptRevision,
    dataset: request.datasetId,
    kind: request.kind,
    key_fingerprint: request.keyFingerprint,
  };
  yield `${JSON.stringify(head).slice(0, -1)},"files":[`;
  const firstReading = createHash('sha256');
  const files = new Lines();
  for await (const page of entries()) {
    for (const entry of page) tally.add(entry);
    add(firstReading, page.flatMap(missingIn));
    yield files.text(page.flatMap(fileIn));
  }
  yield '\n],"missing":[';
  if (tally.missing > 0) {
    const secondReading = createHash('sha256');
    const lines = new Lines();
    for await (const page of entries()) {
      const missing = page.flatMap(missingIn);
      add(secondReading, missing);
      yield lines.text(missing);
    }
    if (!firstReading.digest().equals(secondReading.digest())) {
      throw unavailable('the files of the request changed while its receipt was written');
    }
  }
  yield `\n],"complete":${tally.end(request).state === 'complete'}}\n`;
}

const fileIn = (entry: Entry): DeliveredFile[] => ('file' in entry ? [entry.file] : []);
const missingIn = (entry: Entry): MissingFile[] => ('missing' in entry ? [entry.missing] : []);

function add(reading: Hash, missing: readonly MissingFile[]): void {
  for (const one of missing) reading.update(`${JSON.stringify(one)}\n`);
}

/** Elements of a JSON array, one per line. */
class Lines {
  #isFirst = true;

  text(values: readonly unknown[]): string {
    const lines = values.map((value) => `\n${JSON.stringify(value)}`).join(',');
    const separator = this.#isFirst || lines === '' ? '' : ',';
    if (lines !== '') this.#isFirst = false;
    return separator + lines;
  }
}

export type Entry = { readonly file: DeliveredFile } | { readonly missing: MissingFile };

/**
 * Decide on one file of a request. Of a container that was written several times, the newest wins: it is the one in the
 * outbox.
 *
 * @throws `temporarily_unavailable` when a newer request has written the container and not recorded it yet
 */
export function entryOf(requested: RequestedFile, { keyFingerprint }: Pick<FannedOutRequest, 'keyFingerprint'>): Entry {
  const { state, reason, newest, supersededBy } = requested;
  if (state === 'rejected') return missing(requested, reason ?? state);
  if (state !== 'staged' && state !== 'superseded') return missing(requested, state);
  if (newest?.keyFingerprint === keyFingerprint) return { file: delivered(requested, newest) };
  if (newest) return missing(requested, 'superseded', newest.requestId);
  // Withdrawn, or superseded in its turn, after it was in the way. Requests of earlier versions have no row.
  const isAwaited = ['pending', 'retrying', 'staged'].includes(supersededBy?.state ?? 'none');
  if (state === 'superseded' && !isAwaited) return missing(requested, 'superseded', supersededBy?.requestId);
  throw unavailable('a newer request has not recorded yet what it staged');
}

function missing({ fileId, path }: RequestedFile, reason: string, by?: string): Entry {
  return { missing: { file_id: fileId, path, reason, ...(by !== undefined && { by }) } };
}

function delivered(
  { fileId, path, plaintextSize, plaintextSha256 }: RequestedFile,
  { outboxKey, size, crc64nvme, headerSha256 }: StagedContainer,
): DeliveredFile {
  const name = parseOutboxKey(outboxKey)?.name;
  if (name === undefined) throw new TypeError(`the log has an outbox key of another form: ${outboxKey}`);
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

/** Counts what the entries of a request say. */
export class Tally {
  staged = 0;
  stagedBytes = 0;
  missing = 0;
  #withdrawn = 0;

  add(entry: Entry): void {
    if ('file' in entry) {
      this.staged += 1;
      this.stagedBytes += entry.file.size;
    } else {
      this.missing += 1;
      if (entry.missing.reason === 'withdrawn') this.#withdrawn += 1;
    }
  }

  /** How the request ended. A fan-out that was given up may lack files that the log does not know: it stays `failed`. */
  end({ state }: Pick<FannedOutRequest, 'state'>): RequestEnd {
    const { staged, stagedBytes } = this;
    if (state === 'failed') return { state, staged, stagedBytes };
    const isWithdrawn = this.missing > 0 && this.missing === this.#withdrawn;
    const ended = this.missing === 0 ? 'complete' : isWithdrawn ? 'withdrawn' : 'incomplete';
    return { state: ended, staged, stagedBytes };
  }
}
