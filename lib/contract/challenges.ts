/** `WWW-Authenticate` (RFC 9110 § 11.6.1) of a 401, which only API Gateway itself can send: it renames a function's. */

/**
 * Of the proxy. `Basic` alone: Java's HttpClient sends no password when another scheme stands beside it, and no stock client
 * can do anything with the scheme of the visa, which the problem document asks for.
 */
export const proxyChallenge = 'Basic realm="data-out", charset="UTF-8"';

/** Of direct access. */
export const directChallenge = 'Bearer realm="data-out"';
