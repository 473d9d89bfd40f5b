/**
 * `WWW-Authenticate` (RFC 9110 § 11.6.1) of a 401. Only API Gateway itself can send it: it renames the header of a
 * function.
 */

/**
 * Of the proxy. It names `Basic` alone, because Java's HttpClient sends no password when another scheme stands beside
 * it. The problem document asks for the visa; stock clients know no scheme for that.
 */
export const proxyChallenge = 'Basic realm="data-out", charset="UTF-8"';

/** Of direct access. */
export const directChallenge = 'Bearer realm="data-out"';
