import { expect, test } from 'vitest';
import type { RejectionReason } from '../../../lib/export/rejection.ts';
import type { GiveUpReason } from '../../../lib/export/settling.ts';
import { explainAuditReason } from '../../../lib/ops/audit-reasons.ts';
import type { VisaErrorCode } from '../../../lib/visas/index.ts';

/** The compiler holds this list to the reasons of an export, and of a file that is given up. */
const reasons = {
  malformed_message: true,
  unusable_public_key: true,
  unknown_dataset: true,
  unknown_file: true,
  not_entitled: true,
  not_released: true,
  nothing_to_export: true,
  outbox_quota_exceeded: true,
  internal_error: true,
  no_progress: true,
  no_answer: true,
  expired: true,
  not_sent: true,
} satisfies Record<Exclude<RejectionReason, `visa_${VisaErrorCode}`> | GiveUpReason, true>;

/** Of failures, of requests that are settled, and of files that were removed. */
const others = {
  failed: ['temporarily_unavailable', 'archive_damaged', 'archive_location_unknown'],
  settled: ['complete', 'incomplete', 'failed', 'withdrawn'],
  removed: ['held_elsewhere', 'body_shared'],
};

test.each([...Object.keys(reasons), 'visa_expired', 'visa_denied', ...Object.values(others).flat()])(
  '%s is explained',
  (reason) => {
    expect(explainAuditReason(reason)).toMatch(/^[a-z].{10,}[^.]$/);
  },
);

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (reason) => {
  expect(explainAuditReason(reason)).toBeUndefined();
});
