import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { type VerifyOptions, VisaError, verifyVisaOrPassport } from '../../lib/visas/index.ts';
import { denied, makeTestIssuer, type TestIssuer } from '../helpers/issuer.ts';
import { runs } from '../helpers/runs.ts';

const now = new Date('2026-07-01T00:00:00Z');
const numRuns = runs(500);

let issuer: TestIssuer;
let options: VerifyOptions;
let tokens: Record<'visa' | 'passport', string>;
beforeAll(async () => {
  issuer = await makeTestIssuer();
  options = { issuers: issuer.trusted, denied, now };
  const visas = [await issuer.visa({ dataset: 'D1' }), await issuer.visa({ dataset: 'D2', sub: 'other' })];
  tokens = { visa: visas[0]!, passport: await issuer.passport(visas) };
});

/** The dataset ids granted; none if the token is refused with a VisaError. Any other error fails the test. */
async function grantedBy(token: string): Promise<readonly string[]> {
  try {
    return [...(await verifyVisaOrPassport(token, options)).datasetIds];
  } catch (error) {
    if (error instanceof VisaError) return [];
    throw error;
  }
}

describe.each(['visa', 'passport'] as const)('%s', (kind) => {
  test('as it is, it grants', async () => {
    expect(await grantedBy(tokens[kind])).not.toEqual([]);
  });

  test('with any one byte changed it grants nothing, and fails with a typed error', async () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(change, async ([at, byte]) => {
        const bytes = Buffer.from(tokens[kind], 'latin1');
        const index = at % bytes.length;
        fc.pre(bytes[index] !== byte);
        bytes[index] = byte;
        expect(await grantedBy(bytes.toString('latin1'))).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('cut, repeated or with text put in, it grants nothing', async () => {
    const edit = fc.record({ from: fc.nat(), to: fc.nat(), insert: fc.string({ unit: 'binary' }) });
    await fc.assert(
      fc.asyncProperty(edit, async ({ from, to, insert }) => {
        const token = tokens[kind];
        const edited = token.slice(0, from % token.length) + insert + token.slice(to % token.length);
        fc.pre(edited !== token);
        expect(await grantedBy(edited)).toEqual([]);
      }),
      { numRuns },
    );
  });
});

test('any JSON in header and claims, under no or a foreign signature, grants nothing', async () => {
  const json = fc.jsonValue();
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  await fc.assert(
    fc.asyncProperty(json, json, fc.base64String(), async (header, claims, signature) => {
      const merged = { alg: 'ES256', kid: issuer.kid, ...(header as object) };
      const known = { iss: issuer.iss, sub: 's', iat: 0, exp: 4e9, ...(claims as object) };
      expect(await grantedBy([encode(merged), encode(known), signature].join('.'))).toEqual([]);
      expect(await grantedBy([encode(header), encode(claims), signature].join('.'))).toEqual([]);
    }),
    { numRuns },
  );
});

test('whatever a trusted issuer signs, the outcome is typed and names no dataset but the one of the value', async () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('ControlledAccessGrants', 'dac', 'D1'));
  const visa = fc.record(
    {
      type: fc.oneof(fc.constant('ControlledAccessGrants'), fc.jsonValue()),
      asserted: fc.oneof(fc.constant(1), fc.jsonValue()),
      value: fc.oneof(text, fc.jsonValue()),
      source: fc.oneof(text, fc.jsonValue()),
      by: fc.oneof(text, fc.jsonValue()),
      conditions: fc.oneof(fc.constant([]), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(visa, async (chosen) => {
      const granted = await grantedBy(await issuer.visa({ dataset: 'fallback', visa: chosen }));
      expect(['', chosen.value ?? 'fallback']).toContain(granted.join());
    }),
    { numRuns },
  );
});
