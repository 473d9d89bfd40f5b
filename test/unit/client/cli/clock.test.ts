import { expect, test } from 'vitest';
import { checkClock } from '../../../../lib/client/cli/examine.ts';

const at = (local: string, date: string | undefined) =>
  checkClock({
    date: date === undefined ? undefined : new Date(date),
    localDate: new Date(local),
  });

test.each([
  ['2026-11-21T10:00:00.400Z', '2026-11-21T10:00:00Z', 'ok', "within 0 s of the service's clock"],
  ['2026-11-21T10:00:29Z', '2026-11-21T10:00:00Z', 'ok', "within 29 s of the service's clock"],
  [
    '2026-11-21T10:10:00.500Z',
    '2026-11-21T10:00:00Z',
    'warning',
    "this machine's clock is 10 min 00 s ahead of the service's",
  ],
  [
    '2026-11-21T08:00:00.500Z',
    '2026-11-21T10:00:00Z',
    'warning',
    "this machine's clock is 2 h 00 min behind the service's",
  ],
  ['2026-11-21T08:00:00Z', undefined, 'skipped', 'the service does not say what time it is'],
])('a clock at %s against %s is %s', (local, date, verdict, text) => {
  expect(at(local, date)).toMatchObject({ verdict, text });
});
