import { createHash, type Hash } from 'node:crypto';
import type { DeliveredFile, DeliveryReceipt, MissingFile } from '../../contract/delivery.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import type { Entry } from './entry.ts';
import type { SealedRequest } from './ports.ts';
import type { Tally } from './tally.ts';

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
 * @throws TemporarilyUnavailableError when the two readings differ
 */
export async function* receiptPayload(
  request: SealedRequest,
  { issuer, issuedAt }: Issued,
  entries: () => AsyncIterable<readonly Entry[]>,
  tally: Tally,
): AsyncGenerator<string> {
  const head: Omit<DeliveryReceipt, 'files' | 'missing' | 'complete'> = {
    iss: issuer,
    iat: Math.floor(issuedAt.getTime() / 1000),
    jti: request.requestId,
    requested_at: request.requestedAt,
    generation: request.generation,
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
      throw new TemporarilyUnavailableError('the files of the request changed while its receipt was written');
    }
  }
  yield `\n],"complete":${tally.settlement(request).state === 'complete'}}\n`;
}

const fileIn = (entry: Entry): DeliveredFile[] => ('file' in entry ? [entry.file] : []);
const missingIn = (entry: Entry): MissingFile[] => ('missing' in entry ? [entry.missing] : []);

function add(reading: Hash, missing: readonly MissingFile[]): void {
  for (const one of missing) reading.update(`${JSON.stringify(one)}\n`);
}

/** Elements of a JSON array, one a line. */
class Lines {
  #isFirst = true;

  text(values: readonly unknown[]): string {
    const lines = values.map((value) => `\n${JSON.stringify(value)}`).join(',');
    const separator = this.#isFirst || lines === '' ? '' : ',';
    if (lines !== '') this.#isFirst = false;
    return separator + lines;
  }
}
