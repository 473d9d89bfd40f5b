import type { RejectionReason } from '../export/rejection.ts';
import type { RemovalOutcome } from '../stores/rds/archive-writer.ts';
import { explainVisaError } from '../visas/index.ts';

type OwnReason = Exclude<RejectionReason, `visa_${string}`> | Exclude<RemovalOutcome, 'removed'>;

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
};

/** What a reason code of the audit trail means; `undefined` for an unknown one. */
export function explainReason(reason: string): string | undefined {
  const [, visaError] = /^visa_(.+)$/.exec(reason) ?? [];
  if (visaError !== undefined) return explainVisaError(visaError);
  return Object.hasOwn(explanations, reason) ? explanations[reason as OwnReason] : undefined;
}
