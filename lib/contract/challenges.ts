/** `WWW-Authenticate` (RFC 9110 § 11.6.1) of a 401: by a function, or by API Gateway in its place. */

/** Of `POST /export/{archive_kind}`. */
export const exportChallenge = 'Basic realm="data-out", charset="UTF-8"';

/** Of list and stream, which take a visa and, beside it, the central archive's credentials. */
export const outboxChallenge = 'Bearer realm="data-out", Basic realm="central archive", charset="UTF-8"';

/** Of direct access. */
export const directChallenge = 'Bearer realm="data-out"';
