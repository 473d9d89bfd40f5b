/** A token with these claims and no valid signature, for code that decodes tokens without verifying them. */
export function unverifiedToken(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256', kid: 'k' })}.${part(claims)}.c2ln`;
}

/** Claims of a visa that grants a dataset. */
export function visaClaims(dataset: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    iss: 'https://issuer.example.org/',
    sub: 'jane',
    iat: 1_795_000_000,
    exp: 1_795_255_200, // 2026-11-21T10:00:00Z
    ga4gh_visa_v1: { type: 'ControlledAccessGrants', value: dataset, source: 'https://dac.example.org', by: 'dac' },
    ...more,
  };
}
