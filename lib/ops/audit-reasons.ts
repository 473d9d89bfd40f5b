import type { RequestState } from '../contract/delivery.ts';
import { exportReasons } from '../contract/export-reasons.ts';
import type { ErrorCode } from '../errors.ts';
import type { RejectionReason } from '../export/rejection.ts';
import type { GiveUpReason } from '../export/settling.ts';
import type { RemovalOutcome } from '../stores/rds/archive-writer.ts';
import { explainVisaError } from '../visas/index.ts';

/** Errors that a worker may end with. */
type FailureCode = Extract<ErrorCode, 'temporarily_unavailable' | 'archive_damaged' | 'archive_location_unknown'>;
type OwnReason =
  | Exclude<RejectionReason, `visa_${string}`>
  | Exclude<RemovalOutcome, 'removed'>
  | FailureCode
  | Exclude<GiveUpReason, 'not_sent'>
  | Exclude<RequestState, 'accepted' | 'rejected'>;

const explanations: Readonly<Record<OwnReason, string>> = {
  ...exportReasons,
  held_elsewhere: 'the file has left this dataset, and another one holds it',
  body_shared: 'another file has the same body, which was kept',
  complete: 'each file of the request was in the outbox when the request was first settled',
  incomplete: 'files were missing when the request was first settled',
  failed: 'the request was given up before all its files were sent to be staged',
  withdrawn: 'all files that were missing when the request was first settled had been withdrawn',
};

/** What a reason code of the audit trail means; `undefined` for an unknown one. */
export function explainReason(reason: string): string | undefined {
  const [, visaError] = /^visa_(.+)$/.exec(reason) ?? [];
  if (visaError !== undefined) return explainVisaError(visaError);
  return Object.hasOwn(explanations, reason) ? explanations[reason as OwnReason] : undefined;
}
