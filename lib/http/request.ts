import type { AuthorizerContext } from '../contract/authorizer-context.ts';
import { InvalidRequestError } from '../errors.ts';

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

/**
 * The value of a header that must not be repeated (RFC 9110 § 5.3); `undefined` when absent.
 * @throws InvalidRequestError when it is given more than once, even with the same value.
 */
export function singleHeader(request: Pick<HttpRequest, 'headers'>, name: string): string | undefined {
  const values = request.headers.get(name.toLowerCase()) ?? [];
  if (values.length > 1) throw new InvalidRequestError([{ field: name, message: 'is given more than once' }]);
  return values[0]?.trim();
}

/** The value of a query parameter. @throws InvalidRequestError when it is given more than once. */
export function singleQuery(request: HttpRequest, name: string): string | undefined {
  const values = request.query.get(name) ?? [];
  if (values.length > 1) throw new InvalidRequestError([{ field: name, message: 'is given more than once' }]);
  return values[0];
}
