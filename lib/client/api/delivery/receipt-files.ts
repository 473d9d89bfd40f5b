import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isReceiptName, receiptSuffix } from '../../../contract/delivery.ts';
import { ifThere, onDisk } from '../download/disk/local-disk.ts';
import { ClientError } from '../errors.ts';
import type { ReceiptKeys } from './key-set.ts';
import { ReceiptError } from './receipt.ts';
import type { Receipt } from './receipt-reader.ts';
import { largestReceipt, verifyReceipt } from './verify-receipt.ts';

const readBytes = 1024 * 1024;

/** The receipts of a folder. */
export interface ReadReceipts {
  /** Those whose signature holds. */
  readonly receipts: readonly Receipt[];
  /** What is wrong with those that must not be relied on. The messages name them. */
  readonly refused: readonly ReceiptError[];
  /** Those for keys that are not the caller's. The messages name them. */
  readonly foreign: readonly ReceiptError[];
}

export interface ReadReceiptsOptions {
  /** As in {@link verifyReceipt}. */
  readonly issuer?: string | undefined;
  /** SHA-256 of the caller's public keys, hex; `undefined`: not known, so a receipt for any key is accepted. */
  readonly ownKeys?: ReadonlySet<string> | undefined;
}

/** Names of the receipts in a folder, sorted. @throws ClientError `not_found` if there is no such folder; LocalDiskError */
export async function receiptNames(folder: string): Promise<readonly string[]> {
  const names = await onDisk(`${folder}${sep}.`, () => ifThere(readdir(folder)));
  if (names === undefined) throw new ClientError('not_found', `there is no folder ${folder}`);
  return names.filter(isReceiptName).sort();
}

/** Reads receipts and verifies each of them. @throws LocalDiskError */
export async function readReceipts(
  folder: string,
  names: readonly string[],
  keys: ReceiptKeys,
  { ownKeys, issuer }: ReadReceiptsOptions = {},
): Promise<ReadReceipts> {
  const receipts: Receipt[] = [];
  const refused: ReceiptError[] = [];
  const foreign: ReceiptError[] = [];
  for (const name of names) {
    try {
      const receipt = await verified(join(folder, name), keys, issuer);
      if (!ownKeys || ownKeys.has(receipt.key_fingerprint)) receipts.push(receipt);
      else foreign.push(foreignError(name, receipt));
    } catch (error) {
      if (!(error instanceof ReceiptError)) throw error;
      const { message, remedy } = error;
      refused.push(new ReceiptError(`${name}: ${message}`, { remedy, cause: error, file: name }));
    }
  }
  return { receipts, refused, foreign };
}

function foreignError(name: string, { key_fingerprint }: Receipt): ReceiptError {
  return new ReceiptError(`${name}: this receipt is for another key than yours, SHA-256 ${key_fingerprint}: ignored`, {
    remedy: 'If that key is yours, also name it in key_files.',
  });
}

async function verified(path: string, keys: ReceiptKeys, issuer: string | undefined): Promise<Receipt> {
  return await onDisk(path, async () => {
    const found = await stat(path);
    if (!found.isFile() || found.size > largestReceipt) {
      throw new ReceiptError(`this is not a file, or it has more than ${largestReceipt} bytes`);
    }
    return await verifyReceipt(createReadStream(path, { highWaterMark: readBytes }), keys, { issuer });
  });
}

const uuidLength = 36;
/** Only files have such an id, and no dataset. */
const fileId = /^EGAF\d+$/;

/** The request id in the name of a receipt. */
export function requestOf(name: string): string {
  return name.slice(0, -receiptSuffix.length).slice(-uuidLength);
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
    const id = receipt.slice(0, -(1 + uuidLength + receiptSuffix.length));
    return !fileId.test(id) || ids.has(id);
  };
}
