import { type AdminPage, archiveKindPlace } from '../../contract/admin-page.ts';
import { commonHeaders, type HttpReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { requireAdministrator } from './require-administrator.ts';

/**
 * `GET /admin`, behind the authorizer: the page for administrators, the same for all of them. It holds no data; its module calls
 * the routes below `/export`. The browser may run that one module, and call this origin, and nothing else (CSP 3).
 *
 * @param archiveKind 1–64 of `a-z`, `0-9`, `-`, `_`: nothing that HTML would read
 * @throws ForbiddenError unless the authorizer says that the caller has the role ADMIN.
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
      // No page of another origin keeps hold of a window with this page, or loads it as one of its own parts.
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
    },
    body: html.replace(archiveKindPlace, archiveKind),
  };
}
