import { describe, expect, test } from 'vitest';
import { unverifiedClaims, visasIn } from '../../../lib/common/untrusted-json.ts';

// {"alg":"none"} and {"iss":"a"}
const header = 'eyJhbGciOiJub25lIn0';
const claims = 'eyJpc3MiOiJhIn0';

describe('the claims of a token', () => {
  test('are read from the second of three parts, also without a signature', () => {
    expect(unverifiedClaims(`${header}.${claims}.c2ln`)).toEqual({ iss: 'a' });
    expect(unverifiedClaims(`${header}.${claims}.`)).toEqual({ iss: 'a' });
  });

  test.each([
    ['two parts', `${header}.${claims}`],
    ['five parts, as an encrypted token has', `${header}.${claims}.c2ln.c2ln.c2ln`],
    ['a list (["a"])', `${header}.WyJhIl0.c2ln`],
    ['null', `${header}.bnVsbA.c2ln`],
    ['no JSON', `${header}.YQ.c2ln`],
    // {"a":[[[[[[[[]]]]]]]]}: nine levels.
    ['deep nesting', `${header}.eyJhIjpbW1tbW1tbW11dXV1dXV1dfQ.c2ln`],
    ['nothing', ''],
  ])('are not read from %s', (_, token) => {
    expect(unverifiedClaims(token)).toBeUndefined();
  });
});

test('the visas of a passport are its texts, in their order; a visa holds none', () => {
  // {"ga4gh_passport_v1":["b",1,"a"]}
  expect(visasIn(`${header}.eyJnYTRnaF9wYXNzcG9ydF92MSI6WyJiIiwxLCJhIl19.c2ln`)).toEqual(['b', 'a']);
  expect(visasIn(`${header}.${claims}.c2ln`)).toBeUndefined();
});
