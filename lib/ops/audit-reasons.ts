import type { ArchiveDamagedError, TemporarilyUnavailableError } from '../errors.ts';
import type { RejectionReason } from '../export/rejection.ts';
import type { RemovalOutcome } from '../stores/rds/archive-writer.ts';
import { explainVisaError } from '../visas/index.ts';

/** Why files are given up, as docs/runbook.md has them, and codes of the errors of the last attempt. */
type GivenUpReason =
  | 'no_progress'
  | 'no_answer'
  | 'expired'
  | 'not_sent'
  | ArchiveDamagedError['code']
  | TemporarilyUnavailableError['code']
  | 'internal_error';

type OwnReason = Exclude<RejectionReason, `visa_${string}`> | Exclude<RemovalOutcome, 'removed'> | GivenUpReason;

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
  no_progress: 'five deliveries of a large file brought no new part',
  no_answer: 'the last attempt recorded no end: it met its time limit, or its process died',
  expired: 'nothing changed for 14 days, and SQS keeps no message longer',
  not_sent: 'the fan-out was given up before this file',
  archive_damaged: 'the archive contradicts its catalogue; docs/runbook.md, "ArchiveDamaged", says what to do',
  archive_location_unknown: 'the catalogue names a bucket that is not in the settings',
  temporarily_unavailable: 'every attempt met a service that throttled, resumed or was down',
  internal_error: 'every attempt failed for a cause that the log of the function names',
};

/** What a reason code of the audit trail means; `undefined` for an unknown one. */
export function explainReason(reason: string): string | undefined {
  const [, visaError] = /^visa_(.+)$/.exec(reason) ?? [];
  if (visaError !== undefined) return explainVisaError(visaError);
  return Object.hasOwn(explanations, reason) ? explanations[reason as OwnReason] : undefined;
}
