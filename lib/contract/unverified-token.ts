import { isNestedTooDeeply } from './nesting.ts';

/** Claims of a token before it is verified. Use them to choose and count tokens; never trust them. */
export type UnverifiedClaims = Readonly<Record<string, unknown>>;

/** Claims of a JWS in compact form, which has three parts; `undefined` for anything else. */
export function unverifiedClaims(token: string): UnverifiedClaims | undefined {
  const [, payload = '', ...others] = token.split('.');
  if (others.length !== 1) return undefined;
  try {
    const bytes = bytesOf(payload);
    if (isNestedTooDeeply(bytes)) return undefined;
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
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
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}
