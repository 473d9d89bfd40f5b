import { counted } from '../../../common/text.ts';
import type { DeliveryReceipt } from '../../../contract/delivery.ts';
import { ReceiptError } from './receipt.ts';

/** What the receipts of one request say together. */
export type Receipt = Omit<DeliveryReceipt, 'part' | 'parts'>;

/** What all parts say alike. */
const common = ['iss', 'requested_at', 'dataset', 'kind', 'key_fingerprint', 'parts'] as const;

/**
 * Combines the receipts of one request. Those of an older generation are ignored, also while the newer one is not whole.
 * @param receipts verified, at least one
 * @returns `receipt`, signed when its last part was; `lacking` says that parts are absent, and then do not rely on the receipt
 * @throws ReceiptError if they contradict one another
 */
export function combine(receipts: readonly DeliveryReceipt[]): { receipt: Receipt; lacking: string | undefined } {
  const generation = Math.max(...receipts.map((each) => each.generation));
  const newest = receipts.filter((each) => each.generation === generation);
  const sorted = newest.toSorted((one, other) => (one.part ?? 1) - (other.part ?? 1));
  const { part: _, parts = 1, ...last } = sorted.at(-1) as DeliveryReceipt;
  const differing = common.find((member) => new Set(newest.map((each) => each[member])).size > 1);
  if (differing !== undefined) throw contradiction(`its parts differ in "${differing}"`);
  // Copies of the only receipt do no harm.
  const found = parts === 1 ? sorted.slice(-1) : sorted;
  if (new Set(found.map(({ part }) => part)).size < found.length) throw contradiction('a part comes twice');
  const files = found.flatMap((each) => each.files);
  const missing = found.flatMap((each) => each.missing);
  if (new Set(files.map(({ name }) => name)).size < files.length) throw contradiction('a name is listed twice');
  const isWhole = found.length === parts;
  const complete = isWhole && last.complete;
  if (isWhole && complete !== (missing.length === 0)) {
    throw contradiction(`"complete" is ${complete}, and "missing" lists ${counted(missing.length, 'file')}`);
  }
  const lacking = isWhole
    ? undefined
    : `this receipt is not whole, because the client found only ${counted(found.length, 'part')} of ${parts} in generation ${generation}`;
  return { receipt: { ...last, files, missing, complete }, lacking };
}

function contradiction(what: string): ReceiptError {
  return new ReceiptError(`this receipt contradicts itself, because ${what}`);
}
