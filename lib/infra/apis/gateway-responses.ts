import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { authorizerContext } from '../../contract/http.ts';

interface GatewayProblem {
  /** Absent: API Gateway's own status, which for the two defaults must stay what it is. */
  readonly status?: keyof typeof titles;
  /** @default - that of the status */
  readonly title?: string;
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
  429: 'Too Many Requests',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const;

/** What the authorizers of an API ask for. */
export interface Challenge {
  /** `WWW-Authenticate` of a 401. */
  readonly header: string;
  /** For people: which credentials to send, and how. */
  readonly detail: string;
}

const after = (seconds: number) => ({ headers: { 'Retry-After': String(seconds) } });
const unknown = { status: 404, code: 'not_found', detail: 'There is no such resource.' } as const;
const unchecked = {
  status: 503,
  code: 'temporarily_unavailable',
  detail: 'The credentials could not be checked; try again later.',
  ...after(15),
} as const;
const invalid = { status: 400, code: 'invalid_request' } as const;
const notCarriedOut = { code: 'internal_error', detail: 'The request could not be carried out.' } as const;

/**
 * Replies that API Gateway gives itself, in the form of the functions' own: RFC 9457 with a stable code.
 *
 * @param challenge what a 401 asks for. API Gateway gives it when no credentials were sent at all, and when an authorizer denies. The
 * authorizer passes its reason on. Should the variable have no value, `detail` is empty and the rest holds
 */
function replies(challenge: Challenge): readonly (readonly [ResponseType, GatewayProblem])[] {
  // A function cannot send this header itself: API Gateway renames it.
  const headers = { 'WWW-Authenticate': challenge.header };
  const unauthorized = { status: 401, code: 'unauthenticated', headers } as const;
  const denied = `$context.authorizer.${authorizerContext.detail}`;
  const late = {
    status: 504,
    code: 'temporarily_unavailable',
    detail: 'The request took too long; try again later.',
  } as const;
  return [
    [ResponseType.UNAUTHORIZED, { ...unauthorized, detail: challenge.detail }],
    [ResponseType.ACCESS_DENIED, { ...unauthorized, detail: denied }],
    // API Gateway answers a path or method that it does not know as if a token were missing.
    [ResponseType.MISSING_AUTHENTICATION_TOKEN, unknown],
    [ResponseType.RESOURCE_NOT_FOUND, unknown],
    [ResponseType.BAD_REQUEST_PARAMETERS, { ...invalid, detail: '$context.error.validationErrorString' }],
    [ResponseType.BAD_REQUEST_BODY, { ...invalid, detail: 'The body is not valid.' }],
    // API Gateway takes 10 MB, a function behind it 6 MB.
    [ResponseType.REQUEST_TOO_LARGE, { status: 413, code: 'request_too_large', detail: 'The request is too large.' }],
    [
      ResponseType.THROTTLED,
      { status: 429, code: 'throttled', detail: 'Too many requests; try again later.', ...after(5) },
    ],
    [ResponseType.INTEGRATION_FAILURE, { status: 502, ...notCarriedOut }],
    [ResponseType.INTEGRATION_TIMEOUT, { ...late, ...after(15) }],
    // The authorizer threw, or was not reached: the caller's credentials are unchecked. Which of the two types API
    // Gateway gives depends on where it broke.
    [ResponseType.AUTHORIZER_FAILURE, unchecked],
    [ResponseType.AUTHORIZER_CONFIGURATION_ERROR, unchecked],
    [ResponseType.DEFAULT_4XX, { title: 'Request refused', code: invalid.code, detail: 'The request was refused.' }],
    [ResponseType.DEFAULT_5XX, { title: 'Request failed', ...notCarriedOut }],
  ];
}

/** The template has variables but no escaping, so `detail` may only use what API Gateway or an authorizer words itself. */
function body({ status, title, code, detail }: GatewayProblem): string {
  const about = { type: 'about:blank', title: title ?? (status && titles[status]), status };
  return JSON.stringify({ ...about, detail, code, requestId: '$context.requestId' });
}

/**
 * Headers are literals. A header with the request id is not among what API Gateway is documented to take here; it sends
 * `x-amzn-RequestId` anyway, and the body also has the id.
 */
export function addGatewayResponses(api: RestApi, challenge: Challenge): void {
  for (const [type, shown] of replies(challenge)) {
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
