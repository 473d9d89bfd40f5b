import { isReceiptName } from '../../contract/delivery.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import type { DeliveryApi, ListedFile } from '../api/delivery-api.ts';
import { ClientError } from '../api/errors.ts';
import { decodeVisaOrPassport, subjectOf } from '../api/order/decoded-visa.ts';
import { Claims } from '../api/receipts/claims.ts';
import { fetchReceipts } from '../api/receipts/fetch-receipts.ts';
import { findOwnKeys, recipientsOf, warnOfReceipts } from './own-keys.ts';
import { receiptKeys } from './receipt-keys.ts';
import type { Session } from './session.ts';

/** The most receipts that are read without `--paths`: each costs a request. */
export const mostReceipts = 20;
/** Their most bytes: receipts of some 7,000 files. */
const mostBytes = 4 * 1024 * 1024;
/** Milliseconds that the listing waits for the receipt keys and, without `--paths`, for receipts. */
const timeoutMs = 10_000;

/**
 * Reads what the delivery receipts say of staged files, such as their submitted paths. A receipt that cannot be read is not an error.
 * @param wanted whether they are also read if they are many, or large
 * @throws ClientError `interrupted`
 */
export async function listedClaims(
  session: Session,
  { proxy, files, wanted }: { proxy: DeliveryApi; files: readonly ListedFile[]; wanted: boolean },
): Promise<Claims> {
  const { terminal, output, progress } = session;
  const receipts = files.filter(({ name }) => isReceiptName(name));
  const bytes = receipts.reduce((sum, { size }) => sum + size, 0);
  if (receipts.length === 0) return new Claims([]);
  if (!wanted && (receipts.length > mostReceipts || bytes > mostBytes)) {
    const count = receipts.length === 1 ? '1 delivery receipt was' : `${receipts.length} delivery receipts were`;
    output.note(`No submitted paths are shown: ${count} not read (${formatBytes(bytes)}). --paths reads all.`);
    return new Claims([]);
  }
  const limited = AbortSignal.any([terminal.signal, AbortSignal.timeout(timeoutMs)]);
  const signal = wanted ? terminal.signal : limited;
  try {
    const counter = progress.counter('reading receipts', receipts.length);
    const keys = () => receiptKeys(session, proxy, limited);
    const own = await findOwnKeys(session);
    const options = { proxy, files: receipts, counter, signal, keys, ownKeys: recipientsOf(own) };
    const found = await fetchReceipts(options).finally(counter.end);
    warnOfReceipts(session, found, own);
    return new Claims(found.receipts);
  } catch (error) {
    if (!(error instanceof ClientError) || terminal.signal.aborted) throw error;
    const what = wanted ? 'the receipt keys' : 'the delivery receipts';
    const late = `${what} did not arrive within ${timeoutMs / 1000} s.${wanted ? '' : ' --paths waits longer.'}`;
    const why = error.code === 'interrupted' ? late : printable(error.message);
    output.warn(`some submitted paths are not shown: ${why}`);
    return new Claims([]);
  }
}

/** Says that nothing is staged, and for whom, as the visa has it: with another person's visa, another outbox is empty. */
export async function nothingStaged(session: Session): Promise<string> {
  const decoded = decodeVisaOrPassport((await session.visa()).token);
  const subject = decoded && subjectOf(decoded);
  return subject === undefined ? 'no files are staged' : `no files are staged for ${printable(subject)}`;
}
