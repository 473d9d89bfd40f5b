import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import type { AuthorizerContext } from '../../lib/contract/http.ts';
import { isError } from '../../lib/errors.ts';
import { describeError, logger } from './observability.ts';

export interface Admission {
  /** The caller's name in the access log; no secret. */
  readonly principalId: string;
  readonly context?: AuthorizerContext;
}

/**
 * The handler of a request authorizer. API Gateway passes an `Allow` on to the function. It answers a `Deny` with the gateway
 * response `ACCESS_DENIED`, here a 401 with the real `WWW-Authenticate` and the reason in `context.detail`, and an error with
 * a 503. The error `Unauthorized` would also be a 401, but cannot carry a reason.
 *
 * @param resources what the caller may then invoke, below `<api>/<stage>/`: `GET/files`
 */
export function requestAuthorizer(
  resources: readonly string[],
  admit: (event: APIGatewayRequestAuthorizerEvent) => Promise<Admission>,
) {
  return async (event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> => {
    const { requestId } = event.requestContext;
    const policy = (effect: 'Allow' | 'Deny') => ({
      Version: '2012-10-17',
      Statement: [{ Action: 'execute-api:Invoke', Effect: effect, Resource: arnsOf(event.methodArn, resources) }],
    });
    try {
      const { principalId, context = {} } = await admit(event);
      logger.info('authorized', { requestId, principalId, ...context });
      return { principalId, policyDocument: policy('Allow'), context };
    } catch (error) {
      if (!isError(error, 'unauthenticated')) {
        logger.error('failed', { requestId, ...describeError(error) });
        throw new Error('the authorizer failed');
      }
      logger.info('refused', { requestId, code: error.code, detail: error.message });
      return { principalId: 'refused', policyDocument: policy('Deny'), context: { detail: plain(error.message) } };
    }
  };
}

/** `arn:aws:execute-api:<region>:<account>:<api>/<stage>/<verb>/<path>` */
function arnsOf(methodArn: string, resources: readonly string[]): string[] {
  const [api = '', stage = ''] = methodArn.split('/');
  return resources.map((resource) => `${api}/${stage}/${resource}`);
}

/**
 * A gateway response puts variables into its JSON as they are. A sentence that needs escaping is left out rather than break the
 * document; this service has none.
 */
function plain(sentence: string): string {
  return /^[\x20-\x7e]*$/.test(sentence) && !/["\\]/.test(sentence) ? sentence : 'the credentials were refused';
}
