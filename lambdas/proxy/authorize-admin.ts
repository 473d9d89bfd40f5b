import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { UnauthenticatedError } from '../../lib/errors.ts';
import { type AuthenticatedUser, authenticateAdministrator } from '../../lib/http/administrator.ts';
import { headersOf } from '../../lib/http/api-gateway.ts';
import { SecretAdministrators } from '../../lib/stores/secrets/administrators.ts';
import { secretsManagerClient } from '../../lib/stores/secrets/client.ts';
import { describeError } from '../shared/describe-error.ts';
import { required } from '../shared/environment.ts';
import { logger } from '../shared/observability.ts';

const administrators = new SecretAdministrators({
  client: secretsManagerClient(),
  secretArn: required(environment.adminSecretArn),
});

/**
 * Request authorizer of `POST /export/{archive_kind}`: HTTP Basic, role ADMIN. What API Gateway makes of the outcome:
 * the error `Unauthorized` is a 401 (its gateway response adds `WWW-Authenticate: Basic`), a policy that denies is a 403,
 * any other error a 500.
 */
export async function handler(event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> {
  const { requestId } = event.requestContext;
  try {
    const authorization = headersOf(event).get('authorization') ?? [];
    const user = await authenticateAdministrator(authorization, administrators);
    logger.info('authorized', { requestId, username: user.username, isAdministrator: user.isAdministrator });
    return policy(user, event.methodArn);
  } catch (error) {
    if (error instanceof UnauthenticatedError) {
      logger.info('refused', { requestId, code: error.code, detail: error.message });
      // This very text is what the gateway looks for.
      throw new Error('Unauthorized');
    }
    logger.error('failed', { requestId, ...describeError(error) });
    throw new Error('the authorizer failed');
  }
}

/** Nothing but the export method of this API and stage: `arn:aws:execute-api:<region>:<account>:<api>/<stage>/…`. */
function policy({ username, isAdministrator }: AuthenticatedUser, methodArn: string): APIGatewayAuthorizerResult {
  const [api = '', stage = ''] = methodArn.split('/');
  return {
    principalId: username,
    policyDocument: {
      Version: '2012-10-17',
      Statement: [
        {
          Action: 'execute-api:Invoke',
          Effect: isAdministrator ? 'Allow' : 'Deny',
          Resource: `${api}/${stage}/POST/export/*`,
        },
      ],
    },
  };
}
