import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { isError } from '../../lib/errors.ts';
import { baseUrlOf, originOf, requestOf, resultOf } from '../../lib/service/http/api-gateway.ts';
import { allowedOrigin, refuseCrossOrigin } from '../../lib/service/http/origins.ts';
import { problemOf, problemReply } from '../../lib/service/http/problem.ts';
import type { HttpReply, ReplyBody } from '../../lib/service/http/reply.ts';
import type { HttpRequest } from '../../lib/service/http/request.ts';
import { sendBody } from '../../lib/service/http/send-body.ts';
import { describeError, logger, reportDamage } from './observability.ts';

/** Milliseconds that are kept for the log line of a reply that took too long. */
const cleanUpMs = 2000;

/** What one endpoint needs around its replies. */
export interface AnswerOptions {
  /** Foreign origins whose pages are not refused. Default: none */
  readonly origins?: ReadonlySet<string>;
  /** Changes every reply before it goes out, also the reply to an error. Default: none */
  readonly finish?: <Body extends ReplyBody>(reply: HttpReply<Body>, request: HttpRequest) => HttpReply<Body | string>;
}

/**
 * Run the logic of an endpoint: its reply, or the problem that its error is for the caller. A request of a foreign web page is
 * refused first. Logs the outcome by request id, never the event: its headers and body hold credentials.
 *
 * @param challenge `WWW-Authenticate` of a 401
 */
export async function answer<Body extends ReplyBody>(
  event: APIGatewayProxyEvent,
  challenge: string,
  endpoint: (request: HttpRequest) => Promise<HttpReply<Body>>,
  { origins = new Set(), finish = (reply) => reply }: AnswerOptions = {},
): Promise<HttpReply<Body | string>> {
  const request = requestOf(event);
  const { requestId } = request;
  try {
    if (!allowedOrigin(request, origins)) refuseCrossOrigin(request, originOf(event));
    const reply = await endpoint(request);
    logger.info('answered', { requestId, status: reply.status });
    return finish(reply, request);
  } catch (error) {
    const { status, code } = problemOf(error, requestId);
    // Callers ask operators why their credentials were refused. The text of this error names rules, never values.
    const detail = isError(error, 'unauthenticated') && { detail: error.message };
    if (status < 500) logger.info('refused', { requestId, status, code, ...detail });
    else logger.error('failed', { requestId, status, code, ...describeError(error) });
    reportDamage(error);
    return finish(problemReply(error, requestId, challenge), request);
  }
}

/** The handler of an endpoint whose reply goes out at once. @param challenge `WWW-Authenticate` of a 401 */
export function bufferedHandler(
  challenge: string,
  endpoint: (request: HttpRequest, event: APIGatewayProxyEvent) => Promise<HttpReply>,
): (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult> {
  return async (event) =>
    resultOf(await answer(event, challenge, (request) => endpoint(request, event)), event.httpMethod);
}

export interface Invocation {
  /** The route, with the names of its variable segments: `/files/{fileId}`. */
  readonly resource: string;
  /** URL of the API as the caller sees it, without a slash at the end. */
  readonly baseUrl: () => string;
  readonly remainingMs: () => number;
}

/**
 * The handler of an endpoint whose reply goes out piece by piece. Neither the size limit of a buffered reply nor memory bounds
 * it.
 *
 * @param challenge `WWW-Authenticate` of a 401
 */
export function streamedHandler(
  challenge: string,
  endpoint: (request: HttpRequest, invocation: Invocation) => Promise<HttpReply<ReplyBody>>,
  options?: AnswerOptions,
) {
  return awslambda.streamifyResponse<APIGatewayProxyEvent>(async (event, responseStream, context) => {
    const invocation = {
      resource: event.resource,
      baseUrl: () => baseUrlOf(event),
      remainingMs: () => context.getRemainingTimeInMillis(),
    };
    const { status, headers, body } = await answer(
      event,
      challenge,
      (request) => endpoint(request, invocation),
      options,
    );
    const stream = awslambda.HttpResponseStream.from(responseStream, { statusCode: status, headers });
    try {
      // Status and headers go out with the first write, and a body may be empty.
      stream.write('');
      await sendBody(
        event.httpMethod === 'HEAD' ? '' : body,
        stream,
        Math.max(0, invocation.remainingMs() - cleanUpMs),
      );
    } catch (error) {
      logger.error('reply broke off', { requestId: event.requestContext.requestId, ...describeError(error) });
      reportDamage(error);
      throw new Error('the reply broke off');
    }
  });
}
