import { isOutboxFileName } from '../../contract/outbox-key.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';
import { collected } from '../../http/violations.ts';
import { rowsPerPage, wholeNumber } from '../pages.ts';

/** Which rows of a listing are wanted: `perPage` rows after `page * perPage` of those that follow `after`. */
export interface Page {
  /** Zero-based. */
  readonly page: number;
  /** 1 to 50,000. */
  readonly perPage: number;
  /** A file name. Absent: the rows begin with the first. */
  readonly after?: string;
}

/**
 * `inbox`, `page`, `per_page` and `after` of `GET /files`. The stock client of the field sends `page=-1` when it means the
 * default, so it gets it.
 * @throws InvalidRequestError with every broken rule.
 */
export function parsePage(request: HttpRequest): Page {
  const violations: Violation[] = [];
  collected(violations, () => requireOutbox(request));
  const page = collected(violations, () => wholeNumber(request, 'page')) ?? 0;
  const perPage = collected(violations, () => rowsPerPage(request));
  const after = collected(violations, () => singleQuery(request, 'after'));
  if (after !== undefined && !isOutboxFileName(after)) {
    violations.push({ field: 'after', message: 'must be a fileName of the listing' });
  }
  if (violations.length > 0 || perPage === undefined) throw new InvalidRequestError(violations);
  return { page: Math.max(page, 0), perPage, ...(after !== undefined && { after }) };
}

/** There is no inbox behind this proxy, and clients in the field take an absent `inbox` to mean it. */
function requireOutbox(request: HttpRequest): void {
  const inbox = singleQuery(request, 'inbox');
  if (inbox?.toLowerCase() === 'false') return;
  const message =
    inbox === undefined ? 'is missing: only inbox=false is served' : 'must be false: there is no inbox here';
  throw new InvalidRequestError([{ field: 'inbox', message }]);
}
