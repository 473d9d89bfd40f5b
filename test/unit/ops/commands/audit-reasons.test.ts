import { expect, test } from 'vitest';
import { reasonCodes } from '../../../../lib/contract/reasons.ts';
import { explainAuditReason } from '../../../../lib/ops/commands/audit-reasons.ts';

/** Of requests that are settled, and of files that were removed. */
const others = {
  settled: ['complete', 'incomplete', 'withdrawn'],
  removed: ['held_elsewhere', 'body_shared'],
};

test.each([...reasonCodes, ...Object.values(others).flat()])('%s is explained', (reason) => {
  expect(explainAuditReason(reason)).toMatch(/^[a-z].{10,}[^.]$/);
});

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (reason) => {
  expect(explainAuditReason(reason)).toBeUndefined();
});
