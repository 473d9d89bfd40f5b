import { expect, test } from 'vitest';
import {
  moment,
  reasonInWords,
  relative,
  span,
  stagedOf,
  stateInWords,
} from '../../../../lib/client/admin-page/words.ts';
import { exportStates } from '../../../../lib/contract/export-state.ts';

test.each([
  [-5, '0 seconds'],
  [1_999, '1 second'],
  [59_999, '59 seconds'],
  [60_000, '1 minute'],
  [3_599_999, '59 minutes'],
  [7_200_000, '2 hours'],
  [86_400_000, '1 day'],
  [29 * 86_400_000 + 1, '29 days'],
])('%i ms are %s', (milliseconds, expected) => {
  expect(span(milliseconds)).toBe(expected);
});

test('times are in UTC, and said from now', () => {
  const now = new Date('2026-11-21T10:00:00Z');
  expect(moment('2026-11-21T10:00:00.123Z')).toBe('2026-11-21 10:00:00 UTC');
  expect(moment('yesterday')).toBe('yesterday');
  expect(relative(new Date('2026-12-20T10:00:00Z'), now)).toBe('in 29 days (2026-12-20 10:00:00 UTC)');
  expect(relative(new Date('2026-11-21T09:55:00Z'), now)).toBe('5 minutes ago (2026-11-21 09:55:00 UTC)');
});

test('files that were not counted are not taken for none', () => {
  const counts = { total: 3, pending: null };
  expect(stagedOf({ counts: { ...counts, staged: 0 } })).toBe('0 of 3');
  expect(stagedOf({ counts: { ...counts, staged: null } })).toBe('? of 3');
});

test('each state is a sentence', () => {
  for (const state of exportStates) expect(stateInWords[state]).toMatch(/^[A-Z].+\.$/);
});

test.each([
  [
    'not_entitled',
    'not_entitled: no visa of the request grants the dataset. Check the id, and ask the recipient for the visa of this dataset.',
  ],
  ['visa_expired', 'visa_expired: the token has expired. Ask the recipient for a new visa.'],
  ['visa_other', 'visa_other'],
  ['<b>', '<b>'],
  ['constructor', 'constructor'],
])('the reason %s is explained', (code, expected) => {
  expect(reasonInWords(code)).toBe(expected);
});
