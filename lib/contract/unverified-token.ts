/** Claims of a token that nobody has verified: good for choosing and counting, never for trusting. */
export type UnverifiedClaims = Readonly<Record<string, unknown>>;

/** What a JWS in compact form says of itself; `undefined` when it is none. */
export function unverifiedClaims(token: string): UnverifiedClaims | undefined {
  const [, payload = ''] = token.split('.');
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? { ...claims } : undefined;
  } catch {
    return undefined;
  }
}

/** The visas of a passport, in its order; `undefined` for anything else. */
export function visasIn(token: string): readonly string[] | undefined {
  const held = unverifiedClaims(token)?.['ga4gh_passport_v1'];
  return Array.isArray(held) ? held.filter((visa) => typeof visa === 'string') : undefined;
}
