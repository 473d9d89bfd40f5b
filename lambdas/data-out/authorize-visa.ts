import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { outboxPrefix } from '../../lib/contract/outbox-key.ts';
import { InvalidRequestError, UnauthenticatedError } from '../../lib/errors.ts';
import { headersOf } from '../../lib/http/api-gateway.ts';
import { bearerToken } from '../../lib/http/authorization.ts';
import { VisaError } from '../../lib/visas/index.ts';
import { describeError } from '../shared/describe-error.ts';
import { logger } from '../shared/observability.ts';
import { deployedVisaRules } from '../shared/visa-rules.ts';

const rules = deployedVisaRules();

/**
 * Request authorizer of direct access: whether the token is a visa or passport in force. It decides about no dataset: the
 * functions behind it do, by the same token. It is here because only API Gateway itself can send `WWW-Authenticate`; of a
 * function's reply it renames that header. The error `Unauthorized` is a 401, any other a 503.
 */
export async function handler(event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> {
  const { requestId } = event.requestContext;
  try {
    const token = bearerToken({ headers: headersOf(event) });
    const { kind, subject } = await rules.verify(token);
    // The hash under which the outbox knows them: names nobody in a log.
    const principalId = outboxPrefix(subject);
    logger.info('authorized', { requestId, kind, principalId });
    return policy(principalId, event.methodArn);
  } catch (error) {
    if (error instanceof VisaError || error instanceof UnauthenticatedError || error instanceof InvalidRequestError) {
      logger.info('refused', { requestId, code: error.code, detail: error.message });
      // This very text is what the gateway looks for.
      throw new Error('Unauthorized');
    }
    logger.error('failed', { requestId, ...describeError(error) });
    throw new Error('the authorizer failed');
  }
}

/** All of this API and stage: `arn:aws:execute-api:<region>:<account>:<api>/<stage>/…`. */
function policy(principalId: string, methodArn: string): APIGatewayAuthorizerResult {
  const [api = '', stage = ''] = methodArn.split('/');
  const statement = { Action: 'execute-api:Invoke', Effect: 'Allow', Resource: `${api}/${stage}/*` } as const;
  return { principalId, policyDocument: { Version: '2012-10-17', Statement: [statement] } };
}
