import { expect, test } from 'vitest';
import { directKey, directPrefix, parseDirectKey } from '../../../lib/contract/direct-key.ts';
import { parseOutboxKey } from '../../../lib/contract/outbox-key.ts';

const digest = '0123456789abcdef'.repeat(4);

test('a key is prefix, digest and name, and can be taken apart again', () => {
  const key = directKey(digest, 'EGAF1-sample.bam.c4gh');
  expect(key).toBe(`direct/${digest}/EGAF1-sample.bam.c4gh`);
  expect(parseDirectKey(key)).toEqual({ digest, name: 'EGAF1-sample.bam.c4gh' });
});

test('no key is also the key of a staged container: nothing of this is ever in a listing', () => {
  expect(parseOutboxKey(directKey(digest, 'a.c4gh'))).toBeUndefined();
  expect(parseDirectKey(`${digest}/a.c4gh`)).toBeUndefined();
  // A recipient's part of the outbox begins with hexadecimal digits.
  expect(directPrefix).toMatch(/^[^0-9a-f]|^.[^0-9a-f]/);
});

test.each([
  ['a shorter digest', digest.slice(1), 'a.c4gh'],
  ['capital letters in the digest', digest.toUpperCase(), 'a.c4gh'],
  ['a second segment', digest, 'a/b.c4gh'],
  ['a hidden name', digest, '.c4gh'],
  ['a name of nothing', digest, ''],
  ['a name that would end a header value', digest, 'a".c4gh'],
])('%s makes no key', (_, other, name) => {
  expect(() => directKey(other, name)).toThrow(RangeError);
  expect(parseDirectKey(`direct/${other}/${name}`)).toBeUndefined();
});
