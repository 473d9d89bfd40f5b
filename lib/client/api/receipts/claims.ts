import { basename, join } from 'node:path';
import { safeFileName } from '../../../common/names.ts';
import type { DeliveredFile, MissingFile } from '../../../contract/delivery.ts';
import { originalPath } from '../download/disk/local-name.ts';
import type { Expected } from '../download/expected.ts';
import type { Receipt } from './combine.ts';

/** What a verified receipt says of one file. */
export interface Claim {
  readonly file: DeliveredFile;
  readonly receipt: Receipt;
}

/** A file that a request was to deliver and did not. */
export interface Undelivered {
  readonly file: MissingFile;
  readonly receipt: Receipt;
}

/** What verified receipts say together: for each name, the newest request wins. */
export class Claims {
  /** Oldest request first. */
  readonly receipts: readonly Receipt[];
  readonly #byName = new Map<string, Claim>();
  #byPlace: ReadonlyMap<string, Claim> | undefined;
  /** The containers of each submitted path. */
  #twins: ReadonlyMap<string, readonly Claim[]> | undefined;

  /** @param receipts one per request */
  constructor(receipts: readonly Receipt[]) {
    this.receipts = receipts.toSorted((one, other) => requestedAt(one) - requestedAt(other));
    for (const receipt of this.receipts) {
      for (const file of receipt.files) this.#byName.set(file.name, { file, receipt });
    }
  }

  /** Names that receipts list. */
  get size(): number {
    return this.#byName.size;
  }

  /** @param name of the container, as in the outbox */
  of(name: string): Claim | undefined {
    return this.#byName.get(name);
  }

  /**
   * Where `download --original-paths` puts a container, as segments: at the path that its submitter gave it. If several
   * containers have one path, each has its name in the outbox, which begins with its file id.
   * @returns `undefined` if no receipt names it, or its path has no name
   */
  place(name: string): readonly string[] | undefined {
    const file = this.of(name)?.file;
    const place = file && originalPath(file.path);
    if (file === undefined || place === undefined) return undefined;
    this.#twins ??= Map.groupBy(this.#byName.values(), (claim) => pathKey(claim.file.path));
    const isAlone = this.#twins.get(pathKey(file.path))?.length === 1;
    return isAlone ? place : place.with(-1, safeFileName(file.name));
  }

  /** @param path of a container in the folder of its download: its name, or its {@link place}; folders may be added */
  at(path: string): Claim | undefined {
    this.#byPlace ??= new Map([...this.#byName].map(([name, claim]) => [join(...(this.place(name) ?? ['.'])), claim]));
    return this.of(path) ?? this.#byPlace.get(path) ?? this.of(basename(path));
  }

  /** In the order of the names. */
  *all(): Generator<Claim, void, undefined> {
    for (const name of [...this.#byName.keys()].sort()) yield this.#byName.get(name) as Claim;
  }

  /** Files that no later request has delivered. */
  undelivered(): readonly Undelivered[] {
    const missing = new Map<string, Undelivered>();
    for (const receipt of this.receipts) {
      for (const { file_id } of receipt.files) missing.delete(file_id);
      for (const file of receipt.missing) missing.set(file.file_id, { file, receipt });
    }
    return [...missing.values()];
  }

  /** Incomplete deliveries that later ones did not complete. */
  lacking(): readonly Receipt[] {
    const undelivered = new Set(this.undelivered().map(({ receipt }) => receipt));
    return this.receipts.filter((receipt) => undelivered.has(receipt));
  }

  /**
   * What a file must be when it is downloaded.
   * @param isOwn whether the receipt is for a known key of the caller
   * @returns `undefined` if no receipt names it
   */
  expected(name: string, isOwn = true): Expected | undefined {
    const claim = this.of(name);
    if (claim === undefined) return undefined;
    const { jti, iat } = claim.receipt;
    const remedy =
      'The file is not kept. A new export that is still under way looks like this, because its receipt comes last: run the ' +
      `same command again when the outbox lists a receipt that is newer than ${new Date(iat * 1000).toISOString()}. If no ` +
      'export is under way, the file was changed: tell the operator.' +
      (isOwn
        ? ''
        : ' The receipt is for a key that is not known to be yours: name your key in key_files, or save its public key beside it.');
    return { file: claim.file, requestId: jti, remedy };
  }
}

/** One for all paths that are the same file on a disk that ignores case or Unicode forms. */
function pathKey(submitted: string): string {
  return originalPath(submitted)?.join('/').normalize('NFC').toLowerCase() ?? '';
}

export function requestedAt(receipt: Receipt): number {
  return Date.parse(receipt.requested_at);
}
