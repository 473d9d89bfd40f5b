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

test.each([...Object.keys(reasons), 'visa_expired', 'held_elsewhere', 'body_shared'])('%s is explained', (reason) => {
  expect(explainReason(reason)).toMatch(/^[a-z].{10,}[^.]$/);
});

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (reason) => {
  expect(explainReason(reason)).toBeUndefined();
});
