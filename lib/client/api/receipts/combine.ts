import { counted } from '../../../common/text.ts';
import type { DeliveryReceipt } from '../../../contract/delivery.ts';

/** What the receipts of one request say together. */
export type Receipt = Omit<DeliveryReceipt, 'part' | 'parts'>;

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
