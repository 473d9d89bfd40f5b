import { basename, join } from 'node:path';
import { safeFileName } from '../../../common/names.ts';
import type { DeliveredFile, MissingFile } from '../../../contract/delivery.ts';
import { originalPath } from '../download/disk/local-name.ts';
import type { Receipt } from './receipt-files.ts';

/** What a verified receipt says of one file. */
export interface Claim {
  readonly file: DeliveredFile;
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
    this.receipts = receipts.toSorted((one, other) => Date.parse(one.requested_at) - Date.parse(other.requested_at));
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
  all(): readonly Claim[] {
    return [...this.#byName.values()].sort((one, other) => (one.file.name < other.file.name ? -1 : 1));
  }

  /** Files that a request was to deliver and did not, and no later one has. */
  undelivered() {
    const missing = new Map<string, { readonly file: MissingFile; readonly receipt: Receipt }>();
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
}

/** One for all paths that are the same file on a disk that ignores case or Unicode forms. */
function pathKey(submitted: string): string {
  return originalPath(submitted)?.join('/').normalize('NFC').toLowerCase() ?? '';
}
