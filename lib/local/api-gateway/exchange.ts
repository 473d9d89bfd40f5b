import type { IncomingMessage, ServerResponse } from 'node:http';
import { release } from '../../common/memory.ts';
import { readAll, writeBody, written } from '../http.ts';
import { type Functions, RequestTooLargeException } from '../lambda/functions.ts';
import { authorize, methodArnOf } from './authorizer.ts';
import { type ApiRequest, eventOf, parameterOf } from './event.ts';
import { type GatewayError, gatewayError, renderGatewayResponse } from './gateway-response.ts';
import type { RestApi } from './model.ts';
import { type ProxyReply, readProxyReply, readStreamedReply } from './reply.ts';
import { findRoute, type Route } from './router.ts';

/** Largest request body. */
const bodyLimit = 10 * 1024 * 1024;
/** All header names and values together. */
const headersLimit = 10_240;
/** Characters of a URL, and of the ARN by which an authorizer is asked. */
const urlLimit = 10_240;
const methodArnLimit = 1600;

export interface ExchangeContext {
  readonly api: RestApi;
  readonly functions: Functions;
  readonly behaviour: GatewayBehaviour;
}

/** What AWS does not document. A test may change it. */
export interface GatewayBehaviour {
  /**
   * What happens to a function's `Content-Length` on a streamed reply without a body (HEAD, 304). `renamed`: to
   * `x-amzn-Remapped-Content-Length`, as always with a buffered reply. `zero`: renamed, and 0 in its place.
   */
  contentLengthWithoutBody: 'kept' | 'dropped' | 'renamed' | 'zero';
}

/** The outcome of one request, for the access log. */
export interface ExchangeResult {
  readonly resourcePath?: string | undefined;
  readonly principalId?: string | undefined;
  readonly errorType?: string | undefined;
  /** Absent: the function was not asked. */
  readonly integration?: IntegrationTimes | undefined;
}

/** What a function's reply took, in milliseconds since it was asked. Absent: that did not come. */
export interface IntegrationTimes {
  readonly mode: 'BUFFERED' | 'STREAMED';
  /** `allHeaders` and `firstContent` are those of a streamed reply. */
  allHeaders?: number;
  firstContent?: number;
  completed?: number;
}

/** Serve one request of an API, in the order in which API Gateway looks at it. */
export async function serve(
  context: ExchangeContext,
  request: ApiRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<ExchangeResult> {
  const { api } = context;
  response.setHeader('x-amzn-RequestId', request.requestId);
  const fail = async (error: GatewayError, route?: Route): Promise<ExchangeResult> => {
    const { status, headers, body } = renderGatewayResponse(error, api, request.requestId);
    // The rest of a request that is refused early is not read.
    if (!incoming.complete) response.setHeader('Connection', 'close');
    await reply(response, incoming, status, headers, body);
    return { errorType: error.type, resourcePath: route?.method.resourcePath };
  };
  const size = Object.entries(request.headers).reduce(
    (sum, [name, values]) => sum + values.reduce((bytes, value) => bytes + name.length + value.length, 0),
    0,
  );
  if (size > headersLimit) return fail(gatewayError('DEFAULT_4XX', { status: 431 }));
  const tooLong = () => gatewayError('DEFAULT_4XX', { status: 414 });
  if ((incoming.url ?? '').length > urlLimit) return fail(tooLong());
  const body = await readAll(incoming, bodyLimit);
  if (!body) return fail(gatewayError('REQUEST_TOO_LARGE'));
  const route = findRoute(api.methods, request.httpMethod, request.path);
  if (!route) return fail(gatewayError('MISSING_AUTHENTICATION_TOKEN'));
  const { method } = route;
  if (method.authorizer && methodArnOf(api, request).length > methodArnLimit) return fail(tooLong(), route);
  let authorizer: Readonly<Record<string, unknown>> | undefined;
  if (method.authorizer) {
    const authorization = await authorize(context, method.authorizer, request, route);
    if ('error' in authorization) return fail(authorization.error, route);
    authorizer = authorization.facts;
  }
  const missing = method.requiredParameters.filter((source) => !parameterOf(request, source, route));
  if (missing.length > 0) {
    const names = missing.map((source) => source.replace(/^[a-z]+\./, '')).join(', ');
    const validationError = `Missing required request parameters: [${names}]`;
    return fail(gatewayError('BAD_REQUEST_PARAMETERS', { validationError }), route);
  }
  const base = eventOf(request, route, api);
  const event = {
    ...base,
    requestContext: { ...base.requestContext, ...(authorizer ? { authorizer } : {}) },
    body: body.length === 0 ? null : body.toString(),
    isBase64Encoded: false,
  };
  const integrate = method.streamed ? integrateStreamed : integrateBuffered;
  const integration: IntegrationTimes = { mode: method.streamed ? 'STREAMED' : 'BUFFERED' };
  const asked = performance.now();
  const elapsed = () => Math.round(performance.now() - asked);
  const error = await integrate(context, route, event, incoming, response, (point) => {
    integration[point] ??= elapsed();
  });
  integration.completed = elapsed();
  const principalId = typeof authorizer?.principalId === 'string' ? authorizer.principalId : undefined;
  if (error) return { ...(await fail(error, route)), principalId, integration };
  return { resourcePath: method.resourcePath, principalId, integration };
}

/**
 * Invoke the function and send its reply. @returns the error instead of a reply; `undefined` when the reply is sent
 */
type Integration = (
  context: ExchangeContext,
  route: Route,
  event: unknown,
  incoming: IncomingMessage,
  response: ServerResponse,
  reached: (point: 'allHeaders' | 'firstContent') => void,
) => Promise<GatewayError | undefined>;

const integrateBuffered: Integration = async ({ functions }, { method }, event, incoming, response) => {
  const result = await within(method.timeoutMs, functions.invoke(method.functionArn, event));
  if (!result) return gatewayError('INTEGRATION_TIMEOUT');
  if (!result.ok && result.error.errorType === RequestTooLargeException.name) return gatewayError('REQUEST_TOO_LARGE');
  const parsed = result.ok ? readProxyReply(result.payload) : undefined;
  if (!parsed) return gatewayError('DEFAULT_5XX');
  await reply(response, incoming, parsed.status, contentLength(parsed.headers, 'renamed'), parsed.body);
  return undefined;
};

const integrateStreamed: Integration = async (
  { functions, behaviour },
  { method },
  event,
  incoming,
  response,
  reached,
) => {
  const until = Date.now() + method.timeoutMs;
  const chunks = functions.invokeStreaming(method.functionArn, event);
  const start = await within(method.timeoutMs, readStreamedReply(chunks));
  if (typeof start !== 'object') {
    // This ends the reading, not the invocation.
    void chunks.return();
    if (start === undefined) return gatewayError('INTEGRATION_TIMEOUT');
    if (start === 'too large') return gatewayError('REQUEST_TOO_LARGE');
    // A function that does not begin with metadata and eight NUL bytes is a 500 (APIGW response-transfer-mode-lambda).
    return start === 'failed' ? gatewayError('DEFAULT_5XX') : gatewayError('DEFAULT_5XX', { status: 500 });
  }
  reached('allHeaders');
  const hasBody = incoming.method !== 'HEAD' && start.status !== 304;
  const headers = hasBody ? start.headers : contentLength(start.headers, behaviour.contentLengthWithoutBody);
  sendHead(response, start.status, headers);
  // The client gets the headers even if the reply breaks off before its first byte.
  response.flushHeaders();
  const limit = setTimeout(() => breakConnection(response), until - Date.now());
  try {
    if (hasBody) {
      if (start.firstBytes.byteLength > 0) reached('firstContent');
      await written(response, start.firstBytes);
      for await (const chunk of chunks) {
        if (chunk.byteLength > 0) reached('firstContent');
        await written(response, chunk);
        release(chunk);
      }
    }
    response.end();
  } catch {
    breakConnection(response);
  } finally {
    clearTimeout(limit);
    void chunks.return();
  }
  return undefined;
};

/** What was written so far arrives. Then the client sees that the reply is not whole. */
function breakConnection(response: ServerResponse): void {
  response.socket?.destroySoon();
}

async function reply(
  response: ServerResponse,
  incoming: IncomingMessage,
  status: number,
  headers: ProxyReply['headers'],
  body: string,
): Promise<void> {
  const isHead = incoming.method === 'HEAD';
  const sent = isHead ? '' : body;
  // API Gateway counts the length itself, also of a reply to HEAD.
  sendHead(response, status, { ...headers, 'Content-Length': String(Buffer.byteLength(sent)) });
  await writeBody(response, sent);
}

function contentLength(
  headers: ProxyReply['headers'],
  fate: GatewayBehaviour['contentLengthWithoutBody'],
): ProxyReply['headers'] {
  const name = Object.keys(headers).find((one) => one.toLowerCase() === 'content-length');
  if (name === undefined || fate === 'kept') return headers;
  const { [name]: value = '', ...others } = headers;
  if (fate === 'dropped') return others;
  return { ...others, 'x-amzn-Remapped-Content-Length': value, ...(fate === 'zero' && { 'Content-Length': '0' }) };
}

function sendHead(response: ServerResponse, status: number, headers: ProxyReply['headers']): void {
  response.setHeader('Content-Type', 'application/json');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.writeHead(status);
}

/** The result, or `undefined` when it takes longer. The invocation itself continues. */
async function within<T>(milliseconds: number, result: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), milliseconds);
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
