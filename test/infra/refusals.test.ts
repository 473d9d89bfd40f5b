import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { visaErrors } from '../../lib/contract/reasons.ts';
import { bearerToken } from '../../lib/service/http/authorization.ts';

/**
 * API Gateway puts the reason of a refusal into JSON without escaping it. So every sentence is a literal of printable
 * ASCII without quotation mark and backslash, and holds no part of a request.
 */

/** Printable ASCII but `"` and `\\`. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/;
/** The variables that a sentence may have: names of headers, and the texts of `lib/visas/errors.ts`. */
const variables = ['name', 'error.code', 'error.message'];
/** What an authorizer passes on under another code: its sentence is one of these places as well. */
const passedOn = ['error.message'];

/** Every place in the code of the functions that makes a refusal for lack of credentials, with what it says. */
const places = globSync('{lib/{service,visas,common},lambdas}/**/*.ts').flatMap((file) =>
  readFileSync(file, 'utf8')
    .split(/new DataOutError\(\s*'unauthenticated',\s*/)
    .slice(1)
    .map((rest) => [file, /^(?:(['"`])([\s\S]*?)\1|([\w.]+))\s*,?\s*\)/.exec(rest)] as const),
);

describe('every reason for a 401', () => {
  test('is found, wherever a function makes one', () => {
    const mentions = globSync('{lib/{service,visas,common},lambdas}/**/*.ts').flatMap((file) => {
      // Who asks for the code makes no refusal.
      const code = readFileSync(file, 'utf8').replaceAll(/isError\([^)]*\)/g, '');
      return code.match(/'unauthenticated'/g) ?? [];
    });
    expect(places).toHaveLength(mentions.length);
    expect(places.length).toBeGreaterThan(0);
  });

  test.each(places)('in %s is a sentence that JSON does not escape', (_, found) => {
    const [, , text, variable] = found ?? [];
    if (variable !== undefined) return expect(passedOn).toContain(variable);
    const inside = [...(text ?? '').matchAll(/\$\{([^}]+)\}/g)].map(([, name]) => name);
    expect(inside.filter((name) => !variables.includes(name ?? ''))).toEqual([]);
    expect((text ?? '').replaceAll(/\$\{[^}]+\}/g, '')).toMatch(plain);
  });
});

test('so is what is passed on: that a header is given twice', () => {
  const twice = new Map([['authorization', ['Bearer "', 'Bearer \\']]]);
  expect(() => bearerToken({ headers: twice })).toThrow(plain);
});

test('so is what is said of visas', () => {
  const said = Object.entries(visaErrors).flat();
  expect(said.length).toBeGreaterThan(40);
  expect(said.filter((text) => !plain.test(text))).toEqual([]);
});
