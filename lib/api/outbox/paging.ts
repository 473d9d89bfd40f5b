import { limits } from '../../contract/limits.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';
import { collected } from '../../http/violations.ts';

/** Which rows of a listing are wanted: `perPage` rows after `page * perPage`. */
export interface Page {
  /** Zero-based. */
  readonly page: number;
  /** 1 to 50,000. */
  readonly perPage: number;
}

/**
 * `inbox`, `page` and `per_page` of `GET /files`. The stock client of the field sends `page=-1&per_page=0` when it means
 * the defaults, so it gets them. A page size above the limit is refused, not cut: clients take a page that is shorter than
 * they asked for as the last one.
 * @throws InvalidRequestError with every broken rule.
 */
export function parsePage(request: HttpRequest): Page {
  const violations: Violation[] = [];
  collected(violations, () => requireOutbox(request));
  const page = collected(violations, () => wholeNumber(request, 'page')) ?? 0;
  const perPage = collected(violations, () => wholeNumber(request, 'per_page')) ?? 0;
  if (perPage > limits.filesPerPage) {
    violations.push({ field: 'per_page', message: `must not be greater than ${limits.filesPerPage}` });
  }
  if (violations.length > 0) throw new InvalidRequestError(violations);
  return { page: Math.max(page, 0), perPage: perPage > 0 ? perPage : limits.filesPerPage };
}

/** There is no inbox behind this proxy, and clients in the field take an absent `inbox` to mean it. */
function requireOutbox(request: HttpRequest): void {
  const inbox = singleQuery(request, 'inbox');
  if (inbox?.toLowerCase() === 'false') return;
  const message =
    inbox === undefined ? 'is missing: only inbox=false is served' : 'must be false: there is no inbox here';
  throw new InvalidRequestError([{ field: 'inbox', message }]);
}

/** Nine digits: `page * perPage` stays an exact number. */
function wholeNumber(request: HttpRequest, name: string): number {
  const value = singleQuery(request, name) ?? '0';
  if (!/^-?\d{1,9}$/.test(value)) throw new InvalidRequestError([{ field: name, message: 'must be a whole number' }]);
  return Number(value);
}
