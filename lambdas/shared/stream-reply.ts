import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { HttpReply, ReplyBody } from '../../lib/http/reply.ts';
import type { HttpRequest } from '../../lib/http/request.ts';
import { describeError } from './describe-error.ts';
import { answer } from './http.ts';
import { logger } from './observability.ts';
import { reportDamage } from './report-damage.ts';
import { sendBody } from './send-body.ts';

/** Milliseconds that are left, when a reply has taken too long, for telling what became of it. */
const cleanUpMs = 2000;

/** What an endpoint may know of its invocation, beside the request. */
export interface Invocation {
  /** The route, with the names of its variable segments: `/files/{fileId}`. */
  readonly resource: string;
  /** Milliseconds until the invocation ends. */
  readonly remainingMs: () => number;
}

/**
 * The handler of an endpoint whose reply goes out piece by piece, neither limited by the size of a buffered reply nor held
 * in memory.
 *
 * @param challenge `WWW-Authenticate` of a 401.
 */
export function streamedHandler(
  challenge: string,
  endpoint: (request: HttpRequest, invocation: Invocation) => Promise<HttpReply<ReplyBody>>,
) {
  return awslambda.streamifyResponse<APIGatewayProxyEvent>(async (event, responseStream, context) => {
    const invocation = { resource: event.resource, remainingMs: () => context.getRemainingTimeInMillis() };
    const { status, headers, body } = await answer(event, challenge, (request) => endpoint(request, invocation));
    const stream = awslambda.HttpResponseStream.from(responseStream, { statusCode: status, headers });
    try {
      // Status and headers go out with the first write, and not without one: a body may be empty.
      stream.write('');
      await sendBody(body, stream, Math.max(0, invocation.remainingMs() - cleanUpMs));
    } catch (error) {
      logger.error('reply broke off', { requestId: event.requestContext.requestId, ...describeError(error) });
      reportDamage(error);
      throw new Error('the reply broke off');
    }
  });
}
