import { expect, test, vi } from 'vitest';
import { RepeatedKeys } from '../../../../lib/crypt4gh/header/repeated-keys.ts';

const key = (value: number) => new Uint8Array(32).fill(value);

test('a value is kept when its key comes for the second time', () => {
  const recent = new RepeatedKeys<object>(3);
  const make = vi.fn(() => ({}));
  const values = [1, 2, 3, 4].map(() => recent.get(key(1), make));
  expect(make).toHaveBeenCalledTimes(2);
  expect(values[2]).toBe(values[1]);
  expect(values[3]).toBe(values[1]);
});

test('keys that differ have their own values', () => {
  const recent = new RepeatedKeys<{ value: number }>(3);
  const get = (value: number) => recent.get(key(value), () => ({ value })).value;
  expect([1, 2, 1, 2, 1, 2].map(get)).toEqual([1, 2, 1, 2, 1, 2]);
});

test('no more keys are remembered than the maximum: the key used longest ago is forgotten', () => {
  const recent = new RepeatedKeys<object>(2);
  const make = vi.fn(() => ({}));
  for (const value of [1, 1, 2, 2, 1]) recent.get(key(value), make);
  expect(make).toHaveBeenCalledTimes(4);
  recent.get(key(3), make);
  recent.get(key(1), make);
  expect(make).toHaveBeenCalledTimes(5);
  recent.get(key(2), make);
  expect(make).toHaveBeenCalledTimes(6);
});

test('a key that was overwritten by its owner does not change what is kept', () => {
  const recent = new RepeatedKeys<{ value: number }>(2);
  const mine = key(1);
  for (const value of [1, 1]) recent.get(mine, () => ({ value }));
  mine.fill(9);
  expect(recent.get(mine, () => ({ value: 9 }))).toEqual({ value: 9 });
  expect(recent.get(key(1), () => ({ value: 0 }))).toEqual({ value: 1 });
});
