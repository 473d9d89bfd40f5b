import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { authorizerContext } from '../../contract/http.ts';

interface GatewayProblem {
  readonly type: ResponseType;
  /** Absent: API Gateway's own status, which for the two defaults must stay what it is. */
  readonly status?: number;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
  /** Header names with literal values. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the authorizers of an API ask for. */
export interface Challenge {
  /** `WWW-Authenticate` of a 401. */
  readonly header: string;
  /** For people: which credentials to send, and how. */
  readonly detail: string;
}

/**
 * Refusals: of the gateway when no credentials were sent at all, of an authorizer by a policy that denies. The
 * authorizer passes its reason on. Should the variable have no value, `detail` is empty and the rest holds.
 */
const unauthorized = ({ header, detail }: Challenge): readonly GatewayProblem[] =>
  [
    { type: ResponseType.UNAUTHORIZED, detail },
    { type: ResponseType.ACCESS_DENIED, detail: `$context.authorizer.${authorizerContext.detail}` },
  ].map((each) => ({
    ...each,
    status: 401,
    title: 'Unauthorized',
    code: 'unauthenticated',
    // A function cannot send this header itself: API Gateway renames it.
    headers: { 'WWW-Authenticate': header },
  }));

/**
 * A refusal by our own web ACL, whose rules are all on rates. The status is that of a request too many (RFC 6585 § 4), not 403: a
 * client then waits and tries again, and does not look for a fault in its visa. When the wait is over, the address has sent
 * fewer within the rule's five minutes, even if a thousand downloads wait at once.
 */
const refusedByFirewall: GatewayProblem = {
  type: ResponseType.WAF_FILTERED,
  status: 429,
  title: 'Too Many Requests',
  code: 'throttled',
  detail:
    'Too many requests came from your network address within five minutes; try again in a minute, with fewer at once.',
  headers: { 'Retry-After': '60' },
};

/** Replies that API Gateway gives itself, in the form of the functions' own: RFC 9457 with a stable code. */
const problems: readonly GatewayProblem[] = [
  {
    // API Gateway answers a path or method that it does not know as if a token were missing.
    type: ResponseType.MISSING_AUTHENTICATION_TOKEN,
    status: 404,
    title: 'Not Found',
    code: 'not_found',
    detail: 'There is no such resource.',
  },
  {
    type: ResponseType.RESOURCE_NOT_FOUND,
    status: 404,
    title: 'Not Found',
    code: 'not_found',
    detail: 'There is no such resource.',
  },
  {
    type: ResponseType.BAD_REQUEST_PARAMETERS,
    status: 400,
    title: 'Bad Request',
    code: 'invalid_request',
    detail: '$context.error.validationErrorString',
  },
  {
    type: ResponseType.BAD_REQUEST_BODY,
    status: 400,
    title: 'Bad Request',
    code: 'invalid_request',
    detail: 'The body is not valid.',
  },
  {
    type: ResponseType.REQUEST_TOO_LARGE,
    status: 413,
    title: 'Content Too Large',
    code: 'request_too_large',
    // API Gateway takes 10 MB, a function behind it 6 MB.
    detail: 'The request is too large.',
  },
  {
    type: ResponseType.UNSUPPORTED_MEDIA_TYPE,
    status: 415,
    title: 'Unsupported Media Type',
    code: 'unsupported_media_type',
    detail: 'The request has a media type that this resource does not take.',
  },
  {
    type: ResponseType.THROTTLED,
    status: 429,
    title: 'Too Many Requests',
    code: 'throttled',
    detail: 'Too many requests; try again later.',
    headers: { 'Retry-After': '5' },
  },
  {
    type: ResponseType.INTEGRATION_FAILURE,
    status: 502,
    title: 'Bad Gateway',
    code: 'internal_error',
    detail: 'The request could not be carried out.',
  },
  {
    type: ResponseType.INTEGRATION_TIMEOUT,
    status: 504,
    title: 'Gateway Timeout',
    code: 'temporarily_unavailable',
    detail: 'The request took too long; try again later.',
    headers: { 'Retry-After': '15' },
  },
  // The authorizer threw, or was not reached: the caller's credentials are unchecked. Which of the two types API
  // Gateway gives depends on where it broke.
  ...[ResponseType.AUTHORIZER_FAILURE, ResponseType.AUTHORIZER_CONFIGURATION_ERROR].map((type) => ({
    type,
    status: 503,
    title: 'Service Unavailable',
    code: 'temporarily_unavailable',
    detail: 'The credentials could not be checked; try again later.',
    headers: { 'Retry-After': '15' },
  })),
  {
    type: ResponseType.DEFAULT_4XX,
    title: 'Request refused',
    code: 'invalid_request',
    detail: 'The request was refused.',
  },
  {
    type: ResponseType.DEFAULT_5XX,
    title: 'Request failed',
    code: 'internal_error',
    detail: 'The request could not be carried out.',
  },
];

/** The template has variables but no escaping, so `detail` may only use what API Gateway or an authorizer words itself. */
function body({ status, title, code, detail }: GatewayProblem): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail, code, requestId: '$context.requestId' });
}

interface ServiceResponses {
  readonly challenge: Challenge;
  /** Whether the web ACL of this service stands before the API. One of the operator's own may refuse for other reasons. */
  readonly hasFirewall: boolean;
}

/**
 * Headers are literals. A header with the request id is not among what API Gateway is documented to take here; it sends
 * `x-amzn-RequestId` by itself, and the body has the id, too.
 */
export function addGatewayResponses(api: RestApi, { challenge, hasFirewall }: ServiceResponses): void {
  const ofFirewall = hasFirewall ? [refusedByFirewall] : [];
  for (const problem of [...unauthorized(challenge), ...problems, ...ofFirewall]) {
    const headers = Object.entries(problem.headers ?? {}).map(([name, value]) => [name, `'${value}'`]);
    api.addGatewayResponse(problem.type.responseType, {
      type: problem.type,
      ...(problem.status ? { statusCode: String(problem.status) } : {}),
      responseHeaders: {
        'Content-Type': "'application/problem+json'",
        'Cache-Control': "'no-store'",
        'X-Frame-Options': "'DENY'",
        ...Object.fromEntries(headers),
      },
      templates: { 'application/json': body(problem) },
    });
  }
}
