import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ArchiveDamagedError, ArchiveLocationUnknownError, TemporarilyUnavailableError } from '../../../lib/errors.ts';
import type { RejectionReason } from '../../../lib/export/rejection.ts';
import { failureCode } from '../../../lib/export/settling.ts';
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

/** Reasons of files that are given up: those of the runbook's table, and the codes of failed attempts. */
const page = join(import.meta.dirname, '../../../docs/runbook.md');
const [, table = ''] = readFileSync(page, 'utf8').split('A file is given up with the `code`');
const givenUp = [
  ...[...(table.split('\n\n')[1] ?? '').matchAll(/^\| `(\w+)` \| (?!says)/gm)].map(([, reason = '']) => reason),
  ...[
    new ArchiveDamagedError(''),
    new ArchiveLocationUnknownError(''),
    new TemporarilyUnavailableError(''),
    new Error(),
  ].map(failureCode),
];

test('the runbook has reasons', () => expect(givenUp.length).toBeGreaterThanOrEqual(8));

test.each([...Object.keys(reasons), 'visa_expired', 'held_elsewhere', 'body_shared', ...givenUp])(
  '%s is explained',
  (reason) => {
    expect(explainReason(reason)).toMatch(/^[a-z].{10,}[^.]$/);
  },
);

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (reason) => {
  expect(explainReason(reason)).toBeUndefined();
});
