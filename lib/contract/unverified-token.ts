/** Claims of a token before it is verified. Use them to choose and count tokens; never trust them. */
export type UnverifiedClaims = Readonly<Record<string, unknown>>;

/** Claims of a JWS in compact form, which has three parts; `undefined` for anything else. */
export function unverifiedClaims(token: string): UnverifiedClaims | undefined {
  const [, payload = '', ...others] = token.split('.');
  if (others.length !== 1) return undefined;
  try {
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytesOf(payload)));
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? { ...claims } : undefined;
  } catch {
    return undefined;
  }
}

/** The visas of a passport, in its order; `undefined` for anything else. */
export function visasIn(token: string): readonly string[] | undefined {
  const held = unverifiedClaims(token)?.ga4gh_passport_v1;
  return Array.isArray(held) ? held.filter((visa) => typeof visa === 'string') : undefined;
}

/** @throws DOMException for text that is not base64url (RFC 4648 § 5) */
function bytesOf(base64url: string): Uint8Array {
  const base64 = base64url.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
