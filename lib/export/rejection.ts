import { RequestRejectedError } from '../errors.ts';
import type { VisaErrorCode } from '../visas/index.ts';

/**
 * Why an export request was rejected. Log, metric dimension and audit row carry these words, so they stay stable. The
 * requester does not see them.
 */
export type RejectionReason =
  /** The message is not an export request. */
  | 'malformed_message'
  /** The public key has no known form, or is a point of low order. */
  | 'unusable_public_key'
  /** Verification refused the visa or passport; the rest of the word says why. */
  | `visa_${VisaErrorCode}`
  /** The catalogue has no dataset of that id or alias. */
  | 'unknown_dataset'
  /** The catalogue has no file of that id in any dataset. */
  | 'unknown_file'
  /** No visa grants the dataset. */
  | 'not_entitled'
  /** The newest event of the dataset is not `released`. */
  | 'not_released'
  /** The dataset holds no file. */
  | 'nothing_to_export'
  /** The recipient's part of the outbox would hold more than the operator allows. */
  | 'outbox_quota_exceeded';

/** A {@link RequestRejectedError} with a reason from the one list. `message` names no token, key or visa. */
export function rejection(reason: RejectionReason, message: string): RequestRejectedError {
  return new RequestRejectedError(reason, message);
}
