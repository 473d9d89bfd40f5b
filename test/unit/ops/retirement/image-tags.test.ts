import { describe, expect, test } from 'vitest';
import {
  imageTag,
  isFloating,
  otherTags,
  sameTags,
  versionsTagged,
} from '../../../../lib/ops/retirement/image-tags.ts';

const version = (id: number, ...tags: string[]) => ({
  id,
  digest: `sha256:${id}`,
  tags,
  createdAt: '2026-11-21T10:00:00Z',
});

test('the tag of an image is <component>-<version>', () => {
  expect(imageTag('data-out', '1.2.0')).toBe('data-out-1.2.0');
});

test('a version is found by the whole tag', () => {
  const versions = [version(1, 'proxy-1.2.1'), version(2, 'a-proxy-1.2'), version(3, 'x', 'proxy-1.2'), version(4)];
  expect(versionsTagged(versions, 'proxy-1.2').map(({ id }) => id)).toEqual([3]);
  expect(versionsTagged(versions, 'proxy-1').map(({ id }) => id)).toEqual([]);
  expect(otherTags(versions[2]!, 'proxy-1.2')).toEqual(['x']);
});

test.each([
  [[], [], true],
  [['a', 'b'], ['b', 'a'], true],
  [['a'], ['a', 'a'], true],
  [['a'], [], false],
  [[], ['a'], false],
  [['a', 'b'], ['a', 'c'], false],
])('the same tags: %j, %j', (a, b, same) => {
  expect(sameTags(a, b)).toBe(same);
});

describe('floating tags name no full version', () => {
  test.each(['latest', 'stable', 'main', 'proxy-1', 'proxy-1.2', '1.2', 'v1', 'proxy-latest'])('%s floats', (tag) => {
    expect(isFloating(tag)).toBe(true);
  });
  test.each([
    '1.2.0',
    'v1.2.0',
    'proxy-1.2.0',
    'proxy-1.2.0-rc.1',
    'proxy-1.2.0+build.7',
    `sha256-${'a'.repeat(64)}.sig`,
  ])('%s does not', (tag) => {
    expect(isFloating(tag)).toBe(false);
  });
});
