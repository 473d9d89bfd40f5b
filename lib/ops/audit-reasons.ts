import type { RequestState } from '../contract/delivery.ts';
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
  malformed_message: 'the message in the queue is not an export request',
  unusable_public_key: 'the public key has no known form, or is a weak point of the curve',
  unknown_dataset: 'the catalogue has no dataset of that id or alias',
  unknown_file: 'the catalogue has no file of that id in any dataset',
  not_entitled: 'no visa of the request grants the dataset',
  not_released: 'the newest event of the dataset is not "released"',
  nothing_to_export: 'the dataset holds no file',
  held_elsewhere: 'the file has left this dataset, and another one holds it',
  body_shared: 'another file has the same body, which was kept',
  temporarily_unavailable: 'another service did not answer, or refused for the moment, at each attempt',
  archive_damaged: 'the body or the header of the file contradicts the catalogue',
  archive_location_unknown: 'the catalogue names a bucket that the settings do not have',
  internal_error: 'an unforeseen error: the log of the function has it under the request id',
  no_progress: 'five deliveries of a large file brought no new part',
  no_answer: 'the last attempt recorded no end: it met its time limit, or its process died',
  expired: 'nothing changed for 14 days, and the queue keeps no message longer',
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
