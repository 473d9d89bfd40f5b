import type { RequestState } from '../../contract/delivery.ts';
import { explainReason } from '../../contract/reasons.ts';
import type { RemovalOutcome } from '../catalogue/writer.ts';

/** What only the audit trail has. */
type OwnReason = Exclude<RemovalOutcome, 'removed'> | Exclude<RequestState, 'accepted' | 'rejected'>;

const explanations: Readonly<Record<OwnReason, string>> = {
  held_elsewhere: 'the file has left this dataset, and is still in another one',
  body_shared: 'another file has the same body, which was kept',
  complete: 'each file of the request was in the outbox when the request was first settled',
  incomplete: 'files were missing when the request was first settled',
  withdrawn: 'all files that were missing when the request was first settled had been withdrawn',
};

/** What a reason code of the audit trail means; `undefined` for an unknown one. */
export function explainAuditReason(reason: string): string | undefined {
  if (Object.hasOwn(explanations, reason)) return explanations[reason as OwnReason];
  return explainReason(reason)?.meaning;
}
