import { expect, test } from 'vitest';
import { planContainer } from '../../../../lib/service/containers/plan.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

test.each([0, 1, 8 * MiB - 1, 8 * MiB])('a body of %i bytes goes in one put', (bodySize) => {
  expect(planContainer(124, bodySize)).toEqual({ kind: 'put' });
});

test('one byte over 8 MiB: part 1 is exactly 5 MiB with the header, the rest is one copy', () => {
  expect(planContainer(124, 8 * MiB + 1)).toEqual({
    kind: 'multipart',
    sent: 5 * MiB - 124,
    copySize: 64 * MiB,
    copies: [{ partNumber: 2, start: 5 * MiB - 124, end: 8 * MiB + 1 }],
  });
});

test.each([
  [5 * MiB - 1, 1],
  [5 * MiB, 0],
  [5 * MiB + 1, 0],
])('a header of %i bytes needs %i bytes of body in part 1', (headerSize, sent) => {
  expect(planContainer(headerSize, 9 * MiB)).toMatchObject({
    sent,
    copies: [{ partNumber: 2, start: sent, end: 9 * MiB }],
  });
});

test.each([
  // 1 GiB less 5 MiB in pieces of 64 MiB.
  ['1 GiB', GiB, 16, 64 * MiB],
  // 9,999 pieces of 64 MiB are still enough, one byte more is not.
  ['9,999 × 64 MiB beyond part 1', 9_999 * 64 * MiB + 5 * MiB - 124, 9_999, 64 * MiB],
  ['one byte more', 9_999 * 64 * MiB + 5 * MiB - 123, 9_846, 65 * MiB],
  // ceil((2^40 − 5 MiB) / 9,999) is 104.87 MiB, so 105 MiB; 1,048,571 MiB in pieces of 105.
  ['1 TiB', TiB, 9_987, 105 * MiB],
  // 48.8 TiB is 51,170,508.8 MiB: pieces of 5,118 MiB.
  ['48.8 TiB', Math.floor(48.8 * TiB), 9_999, 5_118 * MiB],
])('a body of %s: part count and size', (_, bodySize, copies, copySize) => {
  const plan = planContainer(124, bodySize);
  expect(plan).toMatchObject({ kind: 'multipart', sent: 5 * MiB - 124 });
  if (plan.kind !== 'multipart') return;
  expect(plan.copies).toHaveLength(copies);
  expect(plan.copies[0]).toMatchObject({ partNumber: 2, start: 5 * MiB - 124, end: 5 * MiB - 124 + copySize });
  expect(plan.copies.at(-1)).toMatchObject({ partNumber: copies + 1, end: bodySize });
});

test('a body beyond what 10,000 parts of 5 GiB hold is refused', () => {
  const most = 9_999 * 5 * GiB + 5 * MiB - 124;
  expect(planContainer(124, most)).toMatchObject({ kind: 'multipart' });
  expect(() => planContainer(124, most + 1)).toThrow(RangeError);
});
