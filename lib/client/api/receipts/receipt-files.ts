import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '../../../common/concurrently.ts';
import { counted } from '../../../common/text.ts';
import { type DeliveryReceipt, isReceiptName, receiptSuffix } from '../../../contract/delivery.ts';
import { diskError, hasCode, ifThere, onDisk } from '../download/disk/local-disk.ts';
import { ClientError } from '../errors.ts';
import type { ReceiptKeys } from './key-set.ts';
import { ReceiptError } from './receipt.ts';
import { largestReceipt, verifyReceipt } from './verify-receipt.ts';

/** What the receipts of one request say together. */
export type Receipt = Omit<DeliveryReceipt, 'part' | 'parts'>;

/** What {@link readReceipts} found. The messages of errors name their receipts. */
export type ReadReceipts = Awaited<ReturnType<typeof readReceipts>>;

/** Names of the receipts in a folder, sorted. @throws ClientError `not_found` if there is no such folder; LocalDiskError */
export async function receiptNames(folder: string): Promise<readonly string[]> {
  const names = await onDisk(folder, () => ifThere(readdir(folder)));
  if (names === undefined) throw new ClientError('not_found', `there is no folder ${folder}`);
  return names.filter(isReceiptName).sort();
}

/** A receipt, and how to get it. */
interface ReceiptSource {
  readonly name: string;
  /** @throws ReceiptError if it must not be relied on */
  readonly read: () => Promise<Uint8Array>;
  /** Gets what was read, once its signature is known to be valid. */
  readonly verified?: (jws: Uint8Array) => void;
}

/** The receipts of a folder, for {@link readReceipts}. */
export function receiptsIn(folder: string, names: readonly string[]): readonly ReceiptSource[] {
  return names.map((name) => ({ name, read: () => bytesOf(join(folder, name)) }));
}

/**
 * Reads receipts, verifies each of them and combines the parts of each request.
 * @param options.ownKeys SHA-256 of the caller's public keys, hex; `undefined`: not known, so a receipt for any key is accepted
 * @param options.parallel how many are in memory at once
 * @throws errors of `read`; LocalDiskError
 */
export async function readReceipts(
  sources: readonly ReceiptSource[],
  keys: () => Promise<ReceiptKeys>,
  options: { readonly ownKeys?: ReadonlySet<string> | undefined; readonly parallel?: number } = {},
) {
  const { ownKeys, parallel = 1 } = options;
  const verified: { readonly name: string; readonly receipt: DeliveryReceipt }[] = [];
  /** One per request: those whose signature holds and that are whole. */
  const receipts: Receipt[] = [];
  /** What is wrong with those that must not be relied on. */
  const refused: ReceiptError[] = [];
  /** Those for keys that are not the caller's. */
  const foreign: ReceiptError[] = [];
  /** Those of which parts are absent. */
  const notWhole: ReceiptError[] = [];
  // Awaited with the first receipt.
  const asked = sources.length > 0 ? keys() : undefined;
  asked?.catch(() => undefined);
  await forEachConcurrently(sources, parallel, async ({ name, read, verified: keep }) => {
    try {
      const jws = await read();
      verified.push({ name, receipt: await verifyReceipt(jws, (await asked) as ReceiptKeys) });
      keep?.(jws);
    } catch (error) {
      if (!(error instanceof ReceiptError)) throw error;
      refused.push(new ReceiptError(`${name}: ${error.message}`, { remedy: error.remedy }));
    }
  });
  verified.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const parts of Map.groupBy(verified, ({ receipt }) => receipt.jti).values()) {
    const { name = '' } = parts[0] ?? {};
    const { receipt, lacking } = combine(parts.map((part) => part.receipt));
    const key = receipt.key_fingerprint;
    if (ownKeys && !ownKeys.has(key)) {
      const what = `${name}: this receipt is for another key than yours, SHA-256 ${key}: ignored`;
      foreign.push(new ReceiptError(what, { remedy: 'If that key is yours, also name it in key_files.' }));
    } else if (lacking === undefined) receipts.push(receipt);
    else notWhole.push(new ReceiptError(`${name}: ${lacking}`, { remedy: partsComeLater }));
  }
  return { receipts, refused, foreign, notWhole };
}

/**
 * Combines the receipts of one request. Those of an older generation are ignored, also while the newer one is not whole.
 * @param receipts verified, at least one. A copy of one does no harm
 * @returns `receipt`, signed when its last part was; `lacking` says that parts are absent, and then do not rely on the receipt
 */
export function combine(receipts: readonly DeliveryReceipt[]): { receipt: Receipt; lacking: string | undefined } {
  const generation = Math.max(...receipts.map((each) => each.generation));
  const newest = receipts.filter((each) => each.generation === generation);
  const byPart = new Map(newest.map((each) => [each.part ?? 1, each]));
  const found = [...byPart.values()].sort((one, other) => (one.part ?? 1) - (other.part ?? 1));
  const { part: _, parts = 1, ...last } = found.at(-1) as DeliveryReceipt;
  const files = found.flatMap((each) => each.files);
  const missing = found.flatMap((each) => each.missing);
  const isWhole = found.length === parts;
  const lacking = isWhole
    ? undefined
    : `this receipt is not whole, because the client found only ${counted(found.length, 'part')} of ${parts} in generation ${generation}`;
  return { receipt: { ...last, files, missing, complete: isWhole && last.complete }, lacking };
}

const partsComeLater =
  "The service writes the parts one after the other. Wait, then fetch them with data-out download '*.delivery.jws'.";

/** The file of a receipt. @throws ReceiptError if it cannot be one; LocalDiskError */
async function bytesOf(path: string): Promise<Uint8Array> {
  const found = await onDisk(path, () => stat(path));
  if (!found.isFile() || found.size > largestReceipt) {
    throw new ReceiptError(`this is not a file, or it has more than ${largestReceipt} bytes`);
  }
  return await readFile(path).catch((error: unknown) => {
    if (hasCode(error, 'EACCES')) throw new ReceiptError('this receipt cannot be read: permission denied');
    throw diskError(error, path);
  });
}

const uuidLength = 36;

/** The id that was asked for and the request id, in the name of a receipt or of a part of one. */
function idsIn(name: string): readonly [asked: string, request: string] {
  const stem = name.slice(0, -receiptSuffix.length).replace(/\.part-\d+$/, '');
  return [stem.slice(0, -uuidLength - 1), stem.slice(-uuidLength)];
}

/** The request id in the name of a receipt. */
export function requestOf(name: string): string {
  return idsIn(name)[1];
}

/**
 * Whether a receipt can name one of the files, by its own name alone. The receipt of a single file, whose name begins with the
 * id of that file, names no other; the receipt of a dataset can name any. Names and metadata of containers prove nothing here:
 * whoever can change a container can also change them.
 * @param files by their names in the outbox
 * @returns takes the name of a receipt
 */
export function mayNameOneOf(files: Iterable<{ readonly name: string }>): (receipt: string) => boolean {
  const ids = new Set(Array.from(files, ({ name }) => name.replace(/(?:-.*|\.c4gh)$/s, '')));
  return (receipt) => {
    const [id] = idsIn(receipt);
    // Only files have such an id, and no dataset.
    return !/^EGAF\d+$/.test(id) || ids.has(id);
  };
}
