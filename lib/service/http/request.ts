import { isNestedTooDeeply } from '../../common/untrusted-json.ts';
import type { AuthorizerContext } from '../../contract/http.ts';
import { limits } from '../../contract/limits.ts';
import { Crypt4ghError, looksLikePrivateKey, parsePublicKey } from '../../crypt4gh/index.ts';
import { invalidRequest, isError, type Violation } from '../../errors.ts';

/** A request as the logic sees it, from any front door. */
export interface HttpRequest {
  /** Id the front door gave to this request; goes into every reply. */
  readonly requestId: string;
  readonly method: string;
  /** Path as the front door gives it, percent-encoded or not. */
  readonly path: string;
  /** Header values in order of arrival, by lower-case name. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** Decoded query values in order of arrival, by name. */
  readonly query: ReadonlyMap<string, readonly string[]>;
  /** Variable segments of the route. Some front doors have decoded them, some have not. */
  readonly pathParameters: ReadonlyMap<string, string>;
  readonly body: Uint8Array | undefined;
  /** What the front door's authorizer said of the caller; empty without an authorizer. The caller cannot set any of it. */
  readonly authorizer: AuthorizerContext;
}

/** The value of a header that must not be repeated (RFC 9110 § 5.3); `undefined` when absent. */
export function singleHeader(request: Pick<HttpRequest, 'headers'>, name: string): string | undefined {
  const values = request.headers.get(name.toLowerCase()) ?? [];
  if (values.length > 1) throw invalidRequest([{ field: name, message: 'is given more than once' }]);
  return values[0]?.trim();
}

/** The value of a query parameter. */
export function singleQuery(request: HttpRequest, name: string): string | undefined {
  const values = request.query.get(name) ?? [];
  if (values.length > 1) throw invalidRequest([{ field: name, message: 'is given more than once' }]);
  return values[0];
}

/** A query parameter that is `true` or `false`. */
export function flagQuery(request: HttpRequest, name: string, byDefault: boolean): boolean {
  const value = singleQuery(request, name)?.toLowerCase() ?? String(byDefault);
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalidRequest([{ field: name, message: 'must be true or false' }]);
}

/**
 * Reads one part of a request. The rules that it breaks are added to `violations`: one reply then names those of all parts.
 *
 * @returns `undefined` when the part breaks a rule
 */
export function collected<T>(violations: Violation[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!isError(error, 'invalid_request')) throw error;
    violations.push(...(error.violations ?? []));
    return undefined;
  }
}

/** Reads parts of a request. @throws `invalid_request` with the rules that all of them break */
export function readAll<Parts extends object>(
  readers: {
    readonly [Name in keyof Parts]: () => Parts[Name];
  },
): Parts {
  const violations: Violation[] = [];
  const parts = Object.entries<() => unknown>(readers).map(([name, read]) => [name, collected(violations, read)]);
  if (violations.length > 0) throw invalidRequest(violations);
  return Object.fromEntries(parts) as Parts;
}

/**
 * The JSON document in the body of a request.
 * @throws `invalid_request` for another media type, no body, more than `maxBytes`, deep nesting or no JSON. It never
 * repeats the body
 */
export function jsonBody(request: HttpRequest, maxBytes: number): unknown {
  const invalid = (field: string, message: string) => invalidRequest([{ field, message }]);
  const contentType = singleHeader(request, 'Content-Type');
  if (contentType && !/^application\/json *(;|$)/i.test(contentType)) {
    throw invalid('Content-Type', 'must be application/json');
  }
  const bytes = request.body ?? new Uint8Array();
  if (bytes.length === 0) throw invalid('body', 'is missing');
  if (bytes.length > maxBytes) throw invalid('body', `must not be longer than ${maxBytes} bytes`);
  if (isNestedTooDeeply(bytes)) throw invalid('body', `must not be nested deeper than ${limits.jsonDepth} levels`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The engine's own message repeats part of the body.
    throw invalid('body', 'is not JSON in UTF-8');
  }
}

/** What a caller is told of a public key that cannot be used, after the name of its field. */
export function explainUnusablePublicKey(text: string): string {
  return looksLikePrivateKey(text) ? privateKey : unusable;
}

const unusable =
  'is not a usable X25519 public key: send Crypt4GH PEM, its base64, base64 of the 32 bytes, X25519 SPKI or ssh-ed25519';

const privateKey =
  'is a PRIVATE key: never send one; make a new pair of keys, because anyone who has seen this one can read the files that ' +
  'are encrypted for it, and send its public key';

/** The raw public key in any accepted form; `undefined` when it has none of them, or is a point of low order. */
export function usablePublicKey(text: string): Uint8Array | undefined {
  try {
    return parsePublicKey(text);
  } catch (error) {
    if (error instanceof Crypt4ghError) return undefined;
    throw error;
  }
}
