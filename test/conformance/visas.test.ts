import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  denialReason,
  parseTrustedIssuers,
  type VerifyOptions,
  VisaError,
  verifyVisaOrPassport,
} from '../../lib/visas/index.ts';
import { judgeVisas } from '../../lib/visas/verify.ts';
import { denied } from '../helpers/issuer.ts';
import {
  vectors as allVectors,
  evaluationTime,
  maxLifetimeSeconds,
  policy,
  readVector,
  type VisaVector,
  vectorTrustList,
} from '../helpers/visa-vectors.ts';

/** Tokens given where the other kind is expected. This service accepts both kinds everywhere, so they are valid. */
const crossed = new Set(['passport-as-visa', 'visa-as-passport']);
/** The service takes no access token of a broker. */
const vectors = allVectors.filter(({ kind, id }) => kind !== 'access_token' && !crossed.has(id));

interface Outcome {
  readonly decision: 'grant' | 'deny';
  readonly reason?: string;
}

/** The vectors once with the whole value as the dataset id, once with what follows the common address. */
const modes = [
  { datasetIdFrom: 'value', idOf: (dataset: string) => policy.datasets[dataset]! },
  { datasetIdFrom: 'prefix:https://datasets.example.org/', idOf: (dataset: string) => dataset },
] as const;

describe.each(modes)('datasetIdFrom $datasetIdFrom', ({ datasetIdFrom, idOf }) => {
  const options: VerifyOptions = {
    issuers: parseTrustedIssuers(vectorTrustList(datasetIdFrom)),
    denied,
    now: evaluationTime,
  };

  test.each(vectors)('$id', async (vector) => {
    expectStated(vector, await judge(vector, idOf(vector.request.dataset), options));
  });
});

test('all vectors of visas and passports are judged', () => {
  expect(vectors).toHaveLength(115);
});

function expectStated({ id, expected }: VisaVector, outcome: Outcome): void {
  // The manifest allows both here: to grant if conditions are evaluated, to deny if not, as here.
  const refusedConditions = id === 'passport-co-02-met-same-identity';
  const preferred = refusedConditions ? 'deny' : expected.preferred;
  const decision = expected.decision === 'either' ? preferred : expected.decision;
  expect(outcome.decision).toBe(decision);
  if (decision === 'grant') return;
  // The manifest writes its reasons with dashes.
  const reasons = [expected.reason, ...(expected.also_reasons ?? [])].map((reason) => reason?.replaceAll('-', '_'));
  expect(reasons).toContain(outcome.reason);
}

async function judge({ kind, file }: VisaVector, dataset: string, options: VerifyOptions): Promise<Outcome> {
  const content = readVector(file);
  switch (kind) {
    case 'visa':
    case 'passport':
      return grantOrDeny(verifyVisaOrPassport(content, options), dataset);
    case 'userinfo': {
      const { visas } = await judgeVisas(JSON.parse(content).ga4gh_passport_v1 ?? [], options);
      const granted = visas.some(({ datasetId }) => datasetId === dataset);
      return granted ? { decision: 'grant' } : { decision: 'deny', reason: 'no_matching_visa' };
    }
    default:
      throw new Error(`unexpected kind of vector: ${kind}`);
  }
}

async function grantOrDeny(verified: ReturnType<typeof verifyVisaOrPassport>, dataset: string): Promise<Outcome> {
  try {
    const grants = await verified;
    const reason = denialReason(grants, dataset);
    expect(grants.grants.some(({ datasetId }) => datasetId === dataset)).toBe(reason === undefined);
    return reason === undefined ? { decision: 'grant' } : { decision: 'deny', reason };
  } catch (error) {
    return { decision: 'deny', reason: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  if (error instanceof VisaError) return error.code;
  throw error;
}

describe('FEGA clearinghouse test data', () => {
  const peer = (file: string) =>
    readFileSync(new URL(`../vectors/peers/fega-clearinghouse/${file}`, import.meta.url), 'utf8').trim();
  const entry = { iss: 'https://login.elixir-czech.org/oidc/', jwks: JSON.parse(peer('jwk.json')), maxLifetimeSeconds };
  const jku = 'https://login.elixir-czech.org/oidc/jwk';
  const optionsWith = (fields: object): VerifyOptions => ({
    issuers: parseTrustedIssuers([{ ...entry, ...fields }]),
    denied,
    now: evaluationTime,
  });

  test('the affiliation visa is valid and grants nothing', async () => {
    const verified = await verifyVisaOrPassport(peer('visa.jwt'), optionsWith({ jku }));
    expect(verified).toMatchObject({
      kind: 'visa',
      subject: { iss: 'https://login.elixir-czech.org/oidc/', sub: 'test@elixir-europe.org' },
      subjects: [],
      grants: [],
      expiresAt: new Date('3000-01-01T00:00:00Z'),
    });
    expect(denialReason(verified, 'affiliate@google.com')).toBe('wrong_visa_type');
  });

  test('its key set address is compared, and never fetched', async () => {
    const other = optionsWith({ jku: 'https://login.elixir-czech.org/oidc/jwk/' });
    await expect(verifyVisaOrPassport(peer('visa.jwt'), other)).rejects.toMatchObject({ code: 'untrusted_jku' });
  });

  test('the UserInfo body holds one valid visa, without a dataset', async () => {
    const { visas, ignored } = await judgeVisas(
      JSON.parse(peer('passport.json')).ga4gh_passport_v1,
      optionsWith({ jku }),
    );
    expect(visas).toMatchObject([{ type: 'AffiliationAndRole', datasetId: undefined }]);
    expect(ignored).toEqual([]);
  });

  test('the access token is not taken for a visa', async () => {
    const options = optionsWith({ issues: ['visas', 'passports'] });
    await expect(verifyVisaOrPassport(peer('access-token.jwt'), options)).rejects.toMatchObject({
      code: 'unsupported_visa_format',
    });
  });
});
