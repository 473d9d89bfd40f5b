import { fileNameBytes } from '../../../common/names.ts';
import {
  type DeliveredFile,
  type DeliveryReceipt,
  isReceiptName,
  type MissingFile,
} from '../../../contract/delivery.ts';
import { ClientError, type ClientErrorOptions } from '../errors.ts';

/** A receipt that must not be relied on. `file`: its name, if it is one of a folder. */
export class ReceiptError extends ClientError {
  readonly file: string | undefined;
  constructor(message: string, { file, ...options }: ClientErrorOptions & { readonly file?: string } = {}) {
    const remedy = 'Download the receipt again. If that does not help, tell the operator.';
    super('not_verified', message, { remedy, ...options });
    this.file = file;
  }
}

const sha256Hex = /^[0-9a-f]{64}$/;
/** Base64 of eight bytes. */
const crcBase64 = /^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$/;
/** An outbox name is one path segment of these characters and begins with no dot. */
const outboxName = new RegExp(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,${fileNameBytes - 1}}$`);
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The payload of a receipt, member by member. Unknown members are ignored.
 * @param payload with a placeholder for each file and each missing file
 * @param files of {@link deliveredFile}
 * @param missing of {@link missingFile}
 * @throws ReceiptError if it is none
 */
export function parseReceipt<T extends { readonly length: number }>(
  payload: unknown,
  files: T,
  missing: readonly MissingFile[],
): Omit<DeliveryReceipt, 'files'> & { readonly files: T } {
  const row = new Row(payload, 'it');
  const receipt = {
    iss: row.text('iss'),
    iat: row.count('iat'),
    jti: row.text('jti', uuid),
    requested_at: row.time('requested_at'),
    generation: row.count('generation', 1),
    dataset: row.text('dataset'),
    kind: row.oneOf('kind', ['dataset', 'file'] as const),
    key_fingerprint: row.text('key_fingerprint', sha256Hex),
    complete: row.flag('complete'),
    files,
    missing,
  };
  if (row.rows('files').length !== files.length) throw malformed('a file is not an object');
  if (row.rows('missing').length !== missing.length) throw malformed('a missing file is not an object');
  if (receipt.complete && receipt.missing.length > 0) throw malformed('it says "complete" and lists missing files');
  return receipt;
}

/** @throws ReceiptError. The names of files become local paths, so any other than an outbox name is refused. */
export function deliveredFile(value: unknown): DeliveredFile {
  const row = new Row(value, 'a file');
  const name = row.text('name', outboxName);
  if (isReceiptName(name)) throw malformed('a file has the name of a receipt');
  return {
    name,
    file_id: row.text('file_id'),
    path: row.text('path', /^/),
    size: row.count('size'),
    header_sha256: row.text('header_sha256', sha256Hex),
    ...row.optional('plaintext_size', (key) => row.count(key)),
    ...row.optional('plaintext_sha256', (key) => row.text(key, sha256Hex)),
    ...row.optional('crc64nvme', (key) => row.text(key, crcBase64)),
  };
}

/** @throws ReceiptError */
export function missingFile(value: unknown): MissingFile {
  const row = new Row(value, 'a missing file');
  return {
    file_id: row.text('file_id'),
    path: row.text('path', /^/),
    reason: row.text('reason'),
    ...row.optional('by', (key) => row.text(key, uuid)),
  };
}

/** The members of one object. */
class Row {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(value: unknown, what: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw malformed(`${what} is not an object`);
    this.#members = value as Readonly<Record<string, unknown>>;
    this.#what = what;
  }

  text(key: string, pattern = /./s): string {
    const value = this.#members[key];
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw this.#wrong(key);
  }

  count(key: string, from = 0): number {
    const value = this.#members[key];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= from) return value;
    throw this.#wrong(key);
  }

  time(key: string): string {
    const value = this.text(key, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/);
    if (Number.isNaN(Date.parse(value))) throw this.#wrong(key);
    return value;
  }

  flag(key: string): boolean {
    const value = this.#members[key];
    if (typeof value === 'boolean') return value;
    throw this.#wrong(key);
  }

  oneOf<T extends string>(key: string, values: readonly T[]): T {
    const value = values.find((each) => each === this.#members[key]);
    if (value !== undefined) return value;
    throw this.#wrong(key);
  }

  rows(key: string): readonly unknown[] {
    const value = this.#members[key];
    if (Array.isArray(value)) return value;
    throw this.#wrong(key);
  }

  /** The member as an object with it alone; without it, an empty object. */
  optional<K extends string, T>(key: K, read: (key: K) => T): { readonly [Key in K]?: T } {
    return this.#members[key] === undefined ? {} : ({ [key]: read(key) } as { readonly [Key in K]?: T });
  }

  #wrong(key: string): ReceiptError {
    return malformed(`${this.#what} has no usable ${key}`);
  }
}

export function malformed(what: string): ReceiptError {
  return new ReceiptError(`this is not a delivery receipt: ${what}`);
}
