import { ForbiddenError } from '../../errors.ts';
import type { HttpRequest } from '../../http/request.ts';

/** @throws ForbiddenError unless the authorizer says that the caller has the role ADMIN */
export function requireAdministrator({ authorizer }: Pick<HttpRequest, 'authorizer'>): void {
  if (authorizer.isAdministrator === 'true') return;
  throw new ForbiddenError('This takes the role ADMIN. Use an account that has it.');
}
