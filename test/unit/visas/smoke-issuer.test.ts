import { beforeAll, describe, expect, test } from 'vitest';
import { denialReason, parseTrustedIssuers, smokeIssuerFault, verifyVisaOrPassport } from '../../../lib/visas/index.ts';
import { denied, makeTestIssuer, type TestIssuer } from '../../helpers/issuer.ts';

const smoke = 'SMOKE-20261122T200000Z-0123abcd';
let issuer: TestIssuer;
let other: TestIssuer;
beforeAll(async () => {
  issuer = await makeTestIssuer({ iss: 'https://smoke.example.org', entry: { purpose: 'smoke-test' } });
  other = await makeTestIssuer();
});

const options = () => ({
  issuers: parseTrustedIssuers([issuer.entry, other.entry]),
  denied,
  now: new Date('2026-11-22T20:00:00Z'),
});

describe('a visa of an issuer of smoke tests', () => {
  test('grants a dataset of a smoke test', async () => {
    const verified = await verifyVisaOrPassport(await issuer.visa({ dataset: smoke }), options());
    expect([...verified.datasetIds]).toEqual([smoke]);
  });

  test.each(['EGAD90000000001', 'smoke-1', 'xSMOKE-1', ' SMOKE-1', 'EGAD1/SMOKE-'])('grants no %j', async (dataset) => {
    const verified = await verifyVisaOrPassport(await issuer.visa({ dataset }), options());
    expect(verified.grants).toEqual([]);
    expect(denialReason(verified, dataset)).toBe('value_mismatch');
  });

  test('grants no more in a passport of any issuer', async () => {
    const visas = [await issuer.visa({ dataset: 'EGAD1' }), await issuer.visa({ dataset: smoke })];
    for (const broker of [issuer, other]) {
      const verified = await verifyVisaOrPassport(await broker.passport(visas), options());
      expect([...verified.datasetIds]).toEqual([smoke]);
    }
  });

  test('is restricted by what its value names, not by the value', async () => {
    const suffix = await makeTestIssuer({ entry: { purpose: 'smoke-test', datasetIdFrom: 'suffix' } });
    const trusting = { ...options(), issuers: suffix.trusted };
    const granted = async (dataset: string) => [
      ...(await verifyVisaOrPassport(await suffix.visa({ dataset }), trusting)).datasetIds,
    ];
    expect(await granted('SMOKE-1/EGAD1')).toEqual([]);
    expect(await granted('https://example.org/SMOKE-1')).toEqual(['SMOKE-1']);
  });
});

test('issuers without a purpose grant any dataset, as before', async () => {
  expect([...(await verifyVisaOrPassport(await other.visa({ dataset: 'EGAD1' }), options())).datasetIds]).toEqual([
    'EGAD1',
  ]);
});

test('a purpose that is not known stops the start', () => {
  expect(() => parseTrustedIssuers([{ ...other.entry, purpose: 'smoke' }])).toThrow('issuers[0].purpose: ');
});

test.each([
  'https://smoke-test.data-out.invalid/',
  'https://visas.example.INVALID:8443/path',
  'https://visas.invalid./',
  'visas.invalid',
  'visas.invalid/path',
])('%s without the purpose of smoke tests stops the start', (iss) => {
  const entry = { ...issuer.entry, iss, purpose: undefined };
  expect(() => parseTrustedIssuers([other.entry, entry])).toThrow(
    'issuers[1].purpose: no real issuer has a name that ends in .invalid: add "purpose": "smoke-test"',
  );
  expect([...parseTrustedIssuers([{ ...entry, purpose: 'smoke-test' }]).keys()]).toEqual([iss]);
});

test.each(['https://invalid.example.org/', 'https://notinvalid/', 'https://example.org/x.invalid'])(
  '%s needs no purpose',
  (iss) => {
    expect([...parseTrustedIssuers([{ ...other.entry, iss }]).keys()]).toEqual([iss]);
  },
);

test('production refuses an issuer of smoke tests, a test stage takes it', () => {
  const { issuers } = options();
  const fault = /^smoke_issuer_in_production: https:\/\/smoke\.example\.org is an issuer of smoke tests/;
  expect(smokeIssuerFault(issuers)).toMatch(fault);
  expect(smokeIssuerFault(issuers, 'production')).toMatch(fault);
  expect(smokeIssuerFault(issuers, 'test')).toBeUndefined();
  expect(smokeIssuerFault(other.trusted)).toBeUndefined();
});
