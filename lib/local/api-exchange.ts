import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import type { AuthorizerRunner } from './api-authorizer.ts';
import { type ApiRequest, eventOf, parameterOf } from './api-event.ts';
import type { RestApi } from './api-model.ts';
import { type ProxyReply, readProxyReply, readStreamedReply } from './api-reply.ts';
import { findRoute, type Route } from './api-router.ts';
import type { Functions } from './functions.ts';
import { type GatewayError, gatewayError, renderGatewayResponse } from './gateway-response.ts';
import { readAll, writeBody } from './http.ts';

/** Largest request body. */
const bodyLimit = 10 * 1024 * 1024;
/** All header names and values together. */
const headersLimit = 10_240;

export interface ExchangeContext {
  readonly api: RestApi;
  readonly functions: Functions;
  readonly authorizers: AuthorizerRunner;
}

/** What became of one request, for the access log. */
export interface ExchangeResult {
  readonly resourcePath?: string | undefined;
  readonly principalId?: string | undefined;
  readonly errorType?: string | undefined;
}

/** Serve one request of an API, in the order in which API Gateway looks at it. */
export async function serve(
  context: ExchangeContext,
  request: ApiRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<ExchangeResult> {
  const { api } = context;
  const fail = async (error: GatewayError, route?: Route): Promise<ExchangeResult> => {
    const accept = parameterOf(request, 'header.Accept');
    const { requestId, httpMethod } = request;
    const path = `/${api.stageName}${request.path}`;
    const { status, headers, body } = renderGatewayResponse(error, api, { requestId, httpMethod, path, accept });
    // The rest of a request that is refused early is not read.
    if (!incoming.complete) response.setHeader('Connection', 'close');
    await reply(response, incoming, status, headers, body);
    return { errorType: error.type, resourcePath: route?.method.resourcePath };
  };
  const size = Object.entries(request.headers).reduce(
    (sum, [name, values]) => sum + values.reduce((bytes, value) => bytes + name.length + value.length, 0),
    0,
  );
  if (size > headersLimit)
    return fail(gatewayError('DEFAULT_4XX', { status: 431, message: 'Request Header Fields Too Large' }));
  const body = await readAll(incoming, bodyLimit);
  if (!body) return fail(gatewayError('REQUEST_TOO_LARGE'));
  const route = findRoute(api.methods, request.httpMethod, request.path);
  if (!route) return fail(gatewayError('MISSING_AUTHENTICATION_TOKEN'));
  const { method } = route;
  let authorizer: Readonly<Record<string, unknown>> | undefined;
  if (method.authorizer) {
    const authorization = await context.authorizers.authorize(method.authorizer, request, route);
    if (!authorization.ok) return fail(authorization.error, route);
    authorizer = authorization.authorizer;
  }
  const missing = method.requiredParameters.filter((source) => !parameterOf(request, source, route));
  if (missing.length > 0) {
    const names = missing.map((source) => source.replace(/^[a-z]+\./, '')).join(', ');
    const validationError = `Missing required request parameters: [${names}]`;
    return fail(gatewayError('BAD_REQUEST_PARAMETERS', { message: validationError, validationError }), route);
  }
  const isBinary = matchesMediaType(api.binaryMediaTypes, parameterOf(request, 'header.Content-Type'));
  const base = eventOf(request, route, api);
  const event = {
    ...base,
    requestContext: { ...base.requestContext, ...(authorizer ? { authorizer } : {}) },
    body: body.length === 0 ? null : body.toString(isBinary ? 'base64' : 'utf8'),
    isBase64Encoded: isBinary && body.length > 0,
  };
  const integrate = method.streamed ? integrateStreamed : integrateBuffered;
  const error = await integrate(context, request, route, event, incoming, response);
  const principalId = typeof authorizer?.['principalId'] === 'string' ? authorizer['principalId'] : undefined;
  if (error) return { ...(await fail(error, route)), principalId };
  return { resourcePath: method.resourcePath, principalId };
}

async function integrateBuffered(
  { api, functions }: ExchangeContext,
  request: ApiRequest,
  { method }: Route,
  event: unknown,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<GatewayError | undefined> {
  const result = await within(method.timeoutMs, functions.invoke(method.functionArn, event));
  if (!result) return gatewayError('INTEGRATION_TIMEOUT');
  const parsed = result.ok ? readProxyReply(result.payload) : undefined;
  if (!parsed) return gatewayError('DEFAULT_5XX');
  await reply(
    response,
    incoming,
    parsed.status,
    withRequestId(parsed.headers, request),
    decodeBody(parsed, api, request),
  );
  return undefined;
}

async function integrateStreamed(
  { functions }: ExchangeContext,
  request: ApiRequest,
  { method }: Route,
  event: unknown,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<GatewayError | undefined> {
  const stream = functions.invokeStreaming(method.functionArn, event);
  // A failure is seen where the stream is read; it must not end the process before.
  stream.on('error', () => {});
  const limit = setTimeout(() => stream.destroy(new Error('integration timeout')), method.timeoutMs);
  try {
    const started = Date.now();
    const start = await readStreamedReply(stream).catch(() => 'failed' as const);
    if (start === 'failed') {
      return gatewayError(Date.now() - started >= method.timeoutMs ? 'INTEGRATION_TIMEOUT' : 'DEFAULT_5XX');
    }
    // A function that does not begin with metadata and eight NUL bytes is a 500 (APIGW response-transfer-mode-lambda).
    if (!start) return gatewayError('DEFAULT_5XX', { status: 500 });
    const body = new PassThrough();
    if (start.firstBytes.length > 0) body.write(start.firstBytes);
    stream.once('error', (error) => body.destroy(error));
    if (stream.errored) body.destroy(stream.errored);
    else stream.pipe(body);
    await reply(response, incoming, start.status, withRequestId(start.headers, request), body);
    return undefined;
  } finally {
    clearTimeout(limit);
    // The function runs on when the client has gone; nobody reads what it writes.
    stream.resume();
  }
}

async function reply(
  response: ServerResponse,
  incoming: IncomingMessage,
  status: number,
  headers: Readonly<Record<string, string | readonly string[]>>,
  body: Readable | string | Uint8Array,
): Promise<void> {
  const all: Record<string, string | readonly string[]> = { ...headers };
  const names = new Set(Object.keys(all).map((name) => name.toLowerCase()));
  if (!names.has('content-type')) all['Content-Type'] = 'application/json';
  const isHead = incoming.method === 'HEAD';
  if (!isHead && (typeof body === 'string' || body instanceof Uint8Array)) {
    for (const name of Object.keys(all)) if (name.toLowerCase() === 'content-length') delete all[name];
    all['Content-Length'] = String(Buffer.byteLength(body));
  }
  for (const [name, value] of Object.entries(all)) response.setHeader(name, value);
  response.writeHead(status);
  if (isHead && typeof body === 'object' && 'resume' in body) body.resume();
  await writeBody(response, isHead ? '' : body);
}

function withRequestId(headers: ProxyReply['headers'], { requestId }: ApiRequest): ProxyReply['headers'] {
  return { 'x-amzn-RequestId': requestId, ...headers };
}

/** Bytes only if the API lists the type that the client accepts first; else the base64 text goes out as it is. */
function decodeBody({ body, isBase64Encoded }: ProxyReply, api: RestApi, request: ApiRequest): string | Uint8Array {
  const accepted = parameterOf(request, 'header.Accept')?.split(',')[0];
  return isBase64Encoded && matchesMediaType(api.binaryMediaTypes, accepted) ? Buffer.from(body, 'base64') : body;
}

function matchesMediaType(patterns: readonly string[], header: string | undefined): boolean {
  const mediaType = header?.split(';')[0]?.trim().toLowerCase() ?? '';
  return patterns.some(
    (pattern) =>
      pattern === '*/*' ||
      pattern === mediaType ||
      (pattern.endsWith('/*') && mediaType.startsWith(pattern.slice(0, -1))),
  );
}

/** The result, or `undefined` when it takes longer; the invocation itself goes on. */
async function within<T>(milliseconds: number, result: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), milliseconds);
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
