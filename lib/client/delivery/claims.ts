import type { DeliveredFile, DeliveryReceipt, MissingFile } from '../../contract/delivery.ts';
import type { Expected } from '../download/expected.ts';

/** What a verified receipt says of one file. */
export interface Claim {
  readonly file: DeliveredFile;
  readonly receipt: DeliveryReceipt;
}

/** A file that a request was to deliver and did not. */
export interface Undelivered {
  readonly file: MissingFile;
  readonly receipt: DeliveryReceipt;
}

/** What verified receipts say together: for each name, the newest request counts. */
export class Claims {
  /** The newest generation of each request, oldest request first. */
  readonly receipts: readonly DeliveryReceipt[];
  readonly #byName = new Map<string, Claim>();

  constructor(receipts: Iterable<DeliveryReceipt>) {
    const newest = new Map<string, DeliveryReceipt>();
    for (const receipt of receipts) {
      if (receipt.generation > (newest.get(receipt.jti)?.generation ?? 0)) newest.set(receipt.jti, receipt);
    }
    this.receipts = [...newest.values()].sort((one, other) => requestedAt(one) - requestedAt(other));
    for (const receipt of this.receipts) {
      for (const file of receipt.files) this.#byName.set(file.name, { file, receipt });
    }
  }

  /** @param name of the container, as in the outbox */
  of(name: string): Claim | undefined {
    return this.#byName.get(name);
  }

  /** In the order of the names. */
  all(): readonly Claim[] {
    return [...this.#byName.values()].sort((one, other) => (one.file.name < other.file.name ? -1 : 1));
  }

  /** Files that no request of the same time or later has delivered. */
  undelivered(): readonly Undelivered[] {
    const delivered = new Map<string, number>();
    const missing = new Map<string, Undelivered>();
    for (const receipt of this.receipts) {
      for (const { file_id } of receipt.files) delivered.set(file_id, requestedAt(receipt));
      for (const file of receipt.missing) missing.set(file.file_id, { file, receipt });
    }
    return [...missing.values()].filter(
      ({ file, receipt }) => (delivered.get(file.file_id) ?? Number.NEGATIVE_INFINITY) < requestedAt(receipt),
    );
  }

  /** Incomplete deliveries that later ones did not complete. */
  lacking(): readonly DeliveryReceipt[] {
    const undelivered = new Set(this.undelivered().map(({ receipt }) => receipt));
    const isMadeUpFor = ({ dataset, missing }: DeliveryReceipt, later: readonly DeliveryReceipt[]) =>
      missing.length === 0 &&
      later.some((each) => each.complete && each.kind === 'dataset' && each.dataset === dataset);
    return this.receipts.filter((receipt, index) => {
      if (receipt.complete) return false;
      if (receipt.missing.length > 0) return undelivered.has(receipt);
      return !isMadeUpFor(receipt, this.receipts.slice(index + 1));
    });
  }

  /**
   * What a file must be when it is downloaded.
   *
   * @param form that is kept: the container, or its plaintext
   * @returns `undefined` if no receipt says enough
   */
  expected(name: string, form: 'container' | 'plaintext'): Expected | undefined {
    const claim = this.of(name);
    if (claim === undefined) return undefined;
    const { crc64nvme, header_sha256: headerSha256, plaintext_sha256: sha256 } = claim.file;
    const about = { asOf: new Date(claim.receipt.iat * 1000), source: 'its delivery receipt lists' };
    if (form === 'plaintext') return sha256 === undefined ? undefined : { sha256, ...about };
    return crc64nvme === undefined ? undefined : { crc64nvme, headerSha256, ...about };
  }
}

export function requestedAt(receipt: DeliveryReceipt): number {
  return Date.parse(receipt.requested_at);
}
