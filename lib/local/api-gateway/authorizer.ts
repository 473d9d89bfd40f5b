import { UnsupportedTemplateError } from '../errors.ts';
import { isAllowed, parsePolicy } from '../iam/policy.ts';
import type { Functions } from '../lambda/functions.ts';
import { accountId } from '../template/names.ts';
import { record } from '../template/template.ts';
import { type ApiRequest, eventOf, parameterOf } from './event.ts';
import { type GatewayError, gatewayError } from './gateway-response.ts';
import type { Authorizer, RestApi } from './model.ts';
import type { Route } from './router.ts';

/** Ask a REQUEST authorizer about a caller. @returns what it says of the caller, or the error instead of a reply */
export async function authorize(
  { functions, api }: { readonly functions: Functions; readonly api: RestApi },
  authorizer: Authorizer,
  request: ApiRequest,
  route: Route,
): Promise<{ readonly error: GatewayError } | { readonly facts: Readonly<Record<string, unknown>> }> {
  // An identity source that is missing or empty is a 401 without an invocation.
  if (authorizer.identitySources.some((source) => !parameterOf(request, source, route))) {
    return { error: gatewayError('UNAUTHORIZED') };
  }
  const methodArn = methodArnOf(api, request);
  const event = { type: 'REQUEST', methodArn, ...eventOf(request, route, api) };
  const result = await functions.invoke(authorizer.functionArn, event);
  if (!result.ok) {
    // Exactly this text means 401; every other failure of the authorizer is a 500.
    return {
      error: gatewayError(result.error.errorMessage === 'Unauthorized' ? 'UNAUTHORIZED' : 'AUTHORIZER_FAILURE'),
    };
  }
  const verdict = readVerdict(result.payload);
  if (!verdict) return { error: gatewayError('AUTHORIZER_CONFIGURATION_ERROR') };
  const facts = { ...verdict.context, principalId: verdict.principalId };
  const isLetIn = isAllowed(verdict.statements, { action: 'execute-api:Invoke', resource: methodArn });
  return isLetIn ? { facts } : { error: gatewayError('ACCESS_DENIED', { authorizer: facts }) };
}

/** @returns `undefined` for an answer that API Gateway refuses. */
function readVerdict(payload: unknown) {
  const { principalId, policyDocument, context } = record(payload);
  if (typeof principalId !== 'string' || policyDocument === undefined) return undefined;
  const values = Object.values(record(context));
  if (values.some((value) => typeof value === 'object' && value !== null)) return undefined;
  try {
    return { principalId, statements: parsePolicy(policyDocument, 'authorizer'), context: record(context) };
  } catch (error) {
    if (error instanceof UnsupportedTemplateError) return undefined;
    throw error;
  }
}

/** ARN of the method that a request calls. An authorizer's policy is about such ARNs. */
export function methodArnOf(api: RestApi, { httpMethod, path }: Pick<ApiRequest, 'httpMethod' | 'path'>): string {
  return `arn:aws:execute-api:${api.region}:${accountId}:${api.id}/${api.stageName}/${httpMethod}${path}`;
}
