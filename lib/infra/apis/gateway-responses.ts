import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { authorizerContext } from '../../contract/http.ts';

interface GatewayProblem {
  /** Absent: API Gateway's own status, which for the two defaults must stay what it is. */
  readonly status?: number;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
  /** Header names with literal values. */
  readonly headers?: Readonly<Record<string, string>>;
}

const titles = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const;

/** @param retryAfter seconds. @default - no such header */
function problem(status: keyof typeof titles, code: string, detail: string, retryAfter?: number): GatewayProblem {
  const headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  return { status, title: titles[status], code, detail, headers };
}

/** A type of reply, and the problem that it is. */
type Reply = readonly [ResponseType, GatewayProblem];

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
const unauthorized = ({ header, detail }: Challenge): readonly Reply[] =>
  [
    [ResponseType.UNAUTHORIZED, detail] as const,
    [ResponseType.ACCESS_DENIED, `$context.authorizer.${authorizerContext.detail}`] as const,
  ].map(([type, reason]) => [
    type,
    // A function cannot send this header itself: API Gateway renames it.
    { ...problem(401, 'unauthenticated', reason), headers: { 'WWW-Authenticate': header } },
  ]);

const unknown = problem(404, 'not_found', 'There is no such resource.');
const unchecked = problem(503, 'temporarily_unavailable', 'The credentials could not be checked; try again later.', 15);

/** Replies that API Gateway gives itself, in the form of the functions' own: RFC 9457 with a stable code. */
const replies: readonly Reply[] = [
  // API Gateway answers a path or method that it does not know as if a token were missing.
  [ResponseType.MISSING_AUTHENTICATION_TOKEN, unknown],
  [ResponseType.RESOURCE_NOT_FOUND, unknown],
  [ResponseType.BAD_REQUEST_PARAMETERS, problem(400, 'invalid_request', '$context.error.validationErrorString')],
  [ResponseType.BAD_REQUEST_BODY, problem(400, 'invalid_request', 'The body is not valid.')],
  // API Gateway takes 10 MB, a function behind it 6 MB.
  [ResponseType.REQUEST_TOO_LARGE, problem(413, 'request_too_large', 'The request is too large.')],
  [ResponseType.THROTTLED, problem(429, 'throttled', 'Too many requests; try again later.', 5)],
  [ResponseType.INTEGRATION_FAILURE, problem(502, 'internal_error', 'The request could not be carried out.')],
  [
    ResponseType.INTEGRATION_TIMEOUT,
    problem(504, 'temporarily_unavailable', 'The request took too long; try again later.', 15),
  ],
  // The authorizer threw, or was not reached: the caller's credentials are unchecked. Which of the two types API
  // Gateway gives depends on where it broke.
  [ResponseType.AUTHORIZER_FAILURE, unchecked],
  [ResponseType.AUTHORIZER_CONFIGURATION_ERROR, unchecked],
  [ResponseType.DEFAULT_4XX, { title: 'Request refused', code: 'invalid_request', detail: 'The request was refused.' }],
  [
    ResponseType.DEFAULT_5XX,
    { title: 'Request failed', code: 'internal_error', detail: 'The request could not be carried out.' },
  ],
];

/** The template has variables but no escaping, so `detail` may only use what API Gateway or an authorizer words itself. */
function body({ status, title, code, detail }: GatewayProblem): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail, code, requestId: '$context.requestId' });
}

/**
 * Headers are literals. A header with the request id is not among what API Gateway is documented to take here; it sends
 * `x-amzn-RequestId` anyway, and the body also has the id.
 */
export function addGatewayResponses(api: RestApi, challenge: Challenge): void {
  for (const [type, shown] of [...unauthorized(challenge), ...replies]) {
    const headers = Object.entries(shown.headers ?? {}).map(([name, value]) => [name, `'${value}'`]);
    api.addGatewayResponse(type.responseType, {
      type,
      ...(shown.status ? { statusCode: String(shown.status) } : {}),
      responseHeaders: {
        'Content-Type': "'application/problem+json'",
        'Cache-Control': "'no-store'",
        'X-Content-Type-Options': "'nosniff'",
        'X-Frame-Options': "'DENY'",
        'Cross-Origin-Resource-Policy': "'same-origin'",
        ...Object.fromEntries(headers),
      },
      templates: { 'application/json': body(shown) },
    });
  }
}
