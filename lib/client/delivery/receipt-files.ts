import { readdir, readFile, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type DeliveryReceipt, isReceiptName } from '../../contract/delivery.ts';
import { ifThere, onDisk } from '../download/disk/local-disk.ts';
import { ClientError } from '../errors.ts';
import type { ReceiptKeys } from './key-set.ts';
import { ReceiptError } from './receipt.ts';
import { largestReceipt, verifyReceipt } from './verify-receipt.ts';

/** The receipts of a folder. */
export interface ReadReceipts {
  /** Those whose signature holds. */
  readonly receipts: readonly DeliveryReceipt[];
  /** What is wrong with those that must not be relied on. The messages name them. */
  readonly refused: readonly ReceiptError[];
}

/** Names of the receipts in a folder, sorted. @throws ClientError `not_found` if there is no such folder; LocalDiskError */
export async function receiptNames(folder: string): Promise<readonly string[]> {
  const names = await onDisk(`${folder}${sep}.`, () => ifThere(readdir(folder)));
  if (names === undefined) throw new ClientError('not_found', `there is no folder ${folder}`);
  return names.filter(isReceiptName).sort();
}

/**
 * Reads receipts and verifies each of them.
 *
 * @param options.issuer as in {@link verifyReceipt}
 * @throws LocalDiskError
 */
export async function readReceipts(
  folder: string,
  names: readonly string[],
  keys: ReceiptKeys,
  options: { readonly issuer?: string | undefined } = {},
): Promise<ReadReceipts> {
  const receipts: DeliveryReceipt[] = [];
  const refused: ReceiptError[] = [];
  for (const name of names) {
    try {
      receipts.push(await verifyReceipt(await receiptIn(join(folder, name)), keys, options));
    } catch (error) {
      if (!(error instanceof ReceiptError)) throw error;
      const { message, remedy } = error;
      refused.push(new ReceiptError(`${name}: ${message}`, { remedy, cause: error }));
    }
  }
  return { receipts, refused };
}

async function receiptIn(path: string): Promise<Uint8Array> {
  return await onDisk(path, async () => {
    const found = await stat(path);
    if (!found.isFile() || found.size > largestReceipt) {
      throw new ReceiptError(`this is no file, or one of more than ${largestReceipt} bytes`);
    }
    return await readFile(path);
  });
}
