import { expect, test } from 'vitest';
import type { RejectionReason } from '../../../lib/export/rejection.ts';
import { explainReason } from '../../../lib/ops/audit-reasons.ts';
import type { VisaErrorCode } from '../../../lib/visas/index.ts';

/** The compiler holds this list to the reasons of an export. */
const reasons = {
  malformed_message: true,
  unusable_public_key: true,
  unknown_dataset: true,
  unknown_file: true,
  not_entitled: true,
  not_released: true,
  nothing_to_export: true,
} satisfies Record<Exclude<RejectionReason, `visa_${VisaErrorCode}`>, true>;

/** Of files and requests that were given up (docs/runbook.md), and of requests that are settled. */
const others = {
  given_up: ['temporarily_unavailable', 'archive_damaged', 'archive_location_unknown', 'internal_error'],
  swept: ['no_progress', 'no_answer', 'expired'],
  settled: ['complete', 'incomplete', 'failed', 'withdrawn'],
  removed: ['held_elsewhere', 'body_shared'],
};

test.each([...Object.keys(reasons), 'visa_expired', 'visa_denied', ...Object.values(others).flat()])(
  '%s is explained',
  (reason) => {
    expect(explainReason(reason)).toMatch(/^[a-z].{10,}[^.]$/);
  },
);

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (reason) => {
  expect(explainReason(reason)).toBeUndefined();
});
