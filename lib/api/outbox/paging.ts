import { limits } from '../../contract/limits.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';

/** Which rows of a listing are wanted: `perPage` rows after `page * perPage`. */
export interface Page {
  /** Zero-based. */
  readonly page: number;
  /** 1 to 50,000. */
  readonly perPage: number;
}

/**
 * `inbox`, `page` and `per_page` of `GET /files`. The stock client of the field sends `page=-1&per_page=0` when it means
 * the defaults, so they are read as such. A page size above the limit is refused, not cut: clients take a page that is
 * shorter than they asked for to be the last.
 * @throws InvalidRequestError with every broken rule.
 */
export function parsePage(request: HttpRequest): Page {
  const violations: Violation[] = [];
  const take = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      violations.push(...error.violations);
      return otherwise;
    }
  };
  take(() => requireOutbox(request), undefined);
  const page = take(() => wholeNumber(request, 'page'), 0);
  const perPage = take(() => wholeNumber(request, 'per_page'), 0);
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
