import { expect, it } from 'vitest';
import { copySource } from '../../../../../lib/service/stores/s3/archive.ts';

it.each([
  ['plain/key.c4gh', 'bucket/plain/key.c4gh'],
  ['a b', 'bucket/a%20b'],
  ['a+b', 'bucket/a%2Bb'],
  ['100%', 'bucket/100%25'],
  ['already%20encoded', 'bucket/already%2520encoded'],
  ['é/日本', 'bucket/%C3%A9/%E6%97%A5%E6%9C%AC'],
  ['?versionId=x', 'bucket/%3FversionId%3Dx'],
  ["!'()*", 'bucket/%21%27%28%29%2A'],
  ['/leading//double', 'bucket//leading//double'],
])('the key %j is sent as %s', (key, expected) => {
  expect(copySource('bucket', key)).toBe(expected);
});
