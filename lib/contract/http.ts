/**
 * What authorizers hand on, in the `context` of their answer: to the function as `requestContext.authorizer`, and to the
 * gateway response of a refusal as `$context.authorizer`. Every value is text.
 */
export const authorizerContext = {
  /** Why the credentials were refused: a fixed sentence of this service, in characters that JSON does not escape. */
  detail: 'detail',
  /** `true` when the caller of an export has the role ADMIN. */
  isAdministrator: 'isAdministrator',
  /** `true` when the credentials of list and stream were right: visa and, as the policy says, archive credentials. */
  isAdmitted: 'isAdmitted',
  /** The central archive's user whose password was right. Absent: no credentials were sent, and none are required. */
  archiveUser: 'archiveUser',
} as const;

export type AuthorizerContext = Readonly<Partial<Record<keyof typeof authorizerContext, string>>>;

/**
 * `WWW-Authenticate` (RFC 9110 § 11.6.1) of a 401. Only API Gateway itself can send it: it renames the header of a
 * function.
 */

/**
 * Of the delivery API. It names `Basic` alone, because Java's HttpClient sends no password when the header names another
 * scheme. The problem document asks for the visa; stock clients know no scheme for that.
 */
export const proxyChallenge = 'Basic realm="data-out", charset="UTF-8"';

/** Of the direct API. */
export const directChallenge = 'Bearer realm="data-out"';

/** Route of the data URLs in htsget tickets. */
export const ticketPartsRoute = '/htsget/parts/{id}/{part}';

/**
 * Size of a file in bytes, on every reply about one. A reply without a body needs it, because `Content-Length` does not
 * arrive: API Gateway sets its own on a buffered reply and renames the function's. For a streamed reply nothing is
 * documented.
 */
export const fileSizeHeader = 'X-File-Size';

/** Peers of htsget that send the key in this header accept only a reply 206. */
export const rangeKeyHeader = 'Client-Public-Key';
/** Headers that carry a recipient's public key; clients in the field send one or another. */
export const keyHeaders = ['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key', rangeKeyHeader] as const;
