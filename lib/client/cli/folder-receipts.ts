import { resolve } from 'node:path';
import { DeliveryApi } from '../api/delivery-api.ts';
import { Claims } from '../api/receipts/claims.ts';
import { parseKeySet, type ReceiptKeys } from '../api/receipts/key-set.ts';
import { type ReadReceipts, readReceipts, receiptsIn } from '../api/receipts/receipt-files.ts';
import type { PrivateKeyFile } from './key-files.ts';
import { findOwnKeys, recipientsOf, warnOfReceipts } from './own-keys.ts';
import { receiptKeys } from './receipt-keys.ts';
import { readSmallFile } from './secrets.ts';
import type { Session } from './session.ts';

/** Bytes of the largest key set. */
const maxKeySetBytes = 1024 * 1024;

/** The option of commands that verify receipts of a folder. */
export const keySetOption = [
  '--keys <file>',
  'JWK set from /.well-known/jwks.json of the service, to work offline',
] as const;

/** The keys to verify receipts with: those of the file `keySet`, or the pinned ones. @throws UsageError, ClientError */
export async function keysOf(
  session: Session,
  keySet: string | undefined,
  signal = session.terminal.signal,
): Promise<ReceiptKeys> {
  if (keySet === undefined) return await receiptKeys(session, new DeliveryApi(await session.service()), signal);
  const text = await readSmallFile('--keys', resolve(session.terminal.folder, keySet), maxKeySetBytes);
  return await parseKeySet(text.toString('utf8'), '--keys');
}

/**
 * Reads and verifies receipts of a folder, and warns of those that must not be relied on.
 * @param about.opened the private keys that the command has read
 * @throws LocalDiskError
 */
export async function readFolder(
  session: Session,
  folder: string,
  { names, keys, opened }: { names: readonly string[]; keys: ReceiptKeys; opened: readonly PrivateKeyFile[] },
): Promise<ReadReceipts & { readonly claims: Claims }> {
  const own = await findOwnKeys(session, opened);
  const read = await readReceipts(receiptsIn(folder, names), async () => keys, { ownKeys: recipientsOf(own) });
  warnOfReceipts(session, read, own);
  return { ...read, claims: new Claims(read.receipts) };
}
