import { type AdminPage, archiveKindPlace } from '../../contract/admin-page.ts';
import { DataOutError } from '../../errors.ts';
import { parseBasic } from './authorization.ts';
import { verifyPassword } from './passwords.ts';
import { commonHeaders, type HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

const administratorRole = 'ADMIN';

export interface Administrators {
  find(username: string): Promise<{ readonly passwordHash: string; readonly roles: readonly string[] } | undefined>;
}

export interface AuthenticatedUser {
  readonly username: string;
  /** Whether the user has the role ADMIN: without it the answer is 403, not 401. */
  readonly isAdministrator: boolean;
}

/**
 * Who calls an administrative endpoint, from the values of its `Authorization` headers.
 * @throws `unauthenticated` for no, several, malformed or wrong credentials
 */
export async function authenticateAdministrator(
  authorization: readonly string[],
  administrators: Administrators,
): Promise<AuthenticatedUser> {
  const [value] = authorization;
  if (value === undefined || authorization.length > 1) {
    throw new DataOutError(
      'unauthenticated',
      'administrator credentials are missing or sent twice: send one Authorization: Basic',
    );
  }
  const { username, password } = parseBasic(value.trim());
  const user = await administrators.find(username);
  if (!(await verifyPassword(password, user?.passwordHash)) || !user) {
    throw new DataOutError('unauthenticated', 'user name or password is wrong');
  }
  return { username, isAdministrator: user.roles.includes(administratorRole) };
}

export function requireAdministrator({ authorizer }: Pick<HttpRequest, 'authorizer'>): void {
  if (authorizer.isAdministrator === 'true') return;
  throw new DataOutError('forbidden', 'This takes the role ADMIN. Use an account that has it.');
}

/**
 * `GET /admin`, behind the authorizer: the page for administrators, the same for all of them. It holds no data; its module calls
 * the routes below `/export`. The browser may run that one module, and call this origin, and nothing else (CSP 3).
 *
 * @param archiveKind 1–64 of `a-z`, `0-9`, `-`, `_`: nothing that HTML would read
 */
export function adminPageReply(
  request: HttpRequest,
  { html, scriptHash, styleHash }: AdminPage,
  archiveKind: string,
): HttpReply {
  requireAdministrator(request);
  const policy = [
    "default-src 'none'",
    `script-src ${scriptHash}`,
    `style-src ${styleHash}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status: 200,
    headers: {
      ...commonHeaders(request.requestId),
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy.join('; '),
      'Referrer-Policy': 'no-referrer',
      // No page of another origin keeps hold of a window with this page, or loads it as its own parts.
      'Cross-Origin-Opener-Policy': 'same-origin',
    },
    body: html.replace(archiveKindPlace, archiveKind),
  };
}
