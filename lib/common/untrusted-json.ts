import { limits } from '../contract/limits.ts';

const [quote, backslash, openList, closeList, openObject, closeObject] = new TextEncoder().encode('"\\[]{}');

/**
 * Whether JSON has objects and lists inside one another deeper than `limits.jsonDepth`. Parsing such a text costs many times
 * what its size suggests, so this reads it once and makes nothing. Of a text that is not JSON it says nothing useful.
 *
 * @param json in UTF-8
 */
export function isNestedTooDeeply(json: Uint8Array): boolean {
  let depth = 0;
  let isText = false;
  for (let position = 0; position < json.length; position += 1) {
    const byte = json[position];
    if (isText) {
      if (byte === backslash) position += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === openList || byte === openObject) {
      depth += 1;
      if (depth > limits.jsonDepth) return true;
    } else if (byte === closeList || byte === closeObject) depth -= 1;
  }
  return false;
}

/** `undefined` for what is not JSON. The parser's own error goes no further: it quotes the input, which may hold a token. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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

/** The token in any text in which people have one: with line breaks, in quotes, after `Bearer`. `undefined`: there is none. */
export function tokenIn(text: string): string | undefined {
  const token = text.replace(/^[\s"']*(?:Bearer\s+)?/i, '').replaceAll(/[\s"']/g, '');
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : undefined;
}

/** The list of `{"ga4gh_passport_v1":[…]}`, as sign-in services and REMS give it; `undefined` for any other text. */
export function listedVisas(text: string): readonly unknown[] | undefined {
  const listed: unknown = Object(parseJson(text)).ga4gh_passport_v1;
  return Array.isArray(listed) ? listed : undefined;
}

function bytesOf(base64url: string): Uint8Array {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}
