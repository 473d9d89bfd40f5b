import type { APIGatewayProxyEvent } from 'aws-lambda';
import { UnauthenticatedError } from '../../lib/errors.ts';
import { requestOf } from '../../lib/http/api-gateway.ts';
import { problemOf, problemReply } from '../../lib/http/problem.ts';
import type { HttpReply, ReplyBody } from '../../lib/http/reply.ts';
import type { HttpRequest } from '../../lib/http/request.ts';
import { describeError } from './describe-error.ts';
import { logger } from './observability.ts';
import { reportDamage } from './report-damage.ts';

/**
 * Run the logic of an endpoint: its reply, or the problem that its error is for the caller. Logs the outcome by request
 * id, never the event: its headers and body hold credentials.
 */
export async function answer<Body extends ReplyBody>(
  event: APIGatewayProxyEvent,
  challenge: string,
  endpoint: (request: HttpRequest) => Promise<HttpReply<Body>>,
): Promise<HttpReply<Body | string>> {
  const request = requestOf(event);
  const { requestId } = request;
  try {
    const reply = await endpoint(request);
    logger.info('answered', { requestId, status: reply.status });
    return reply;
  } catch (error) {
    const { status, code } = problemOf(error, requestId);
    // Why credentials were refused is what operators are asked; the text of this error names rules, never values.
    const detail = error instanceof UnauthenticatedError && { detail: error.message };
    if (status < 500) logger.info('refused', { requestId, status, code, ...detail });
    else logger.error('failed', { requestId, status, code, ...describeError(error) });
    reportDamage(error);
    const reply = problemReply(error, requestId, challenge);
    return request.method === 'HEAD' ? { ...reply, body: '' } : reply;
  }
}
