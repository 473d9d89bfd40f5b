import { UnsupportedTemplateError } from '../errors.ts';
import { isAllowed, parsePolicy, type Statement } from '../iam/policy.ts';
import type { Functions } from '../lambda/functions.ts';
import { accountId } from '../template/names.ts';
import { record } from '../template/template.ts';
import type { ApiRequest } from './event.ts';
import { eventOf, parameterOf } from './event.ts';
import { type GatewayError, gatewayError } from './gateway-response.ts';
import type { Authorizer, RestApi } from './model.ts';
import type { Route } from './router.ts';

/** An authorizer's answer about a caller. */
interface Verdict {
  readonly principalId: string;
  readonly statements: readonly Statement[];
  readonly context: Readonly<Record<string, unknown>>;
}

export type Authorization =
  | { readonly ok: true; readonly authorizer: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: GatewayError };

/** Ask a REQUEST authorizer about a caller. */
export async function authorize(
  { functions, api }: { readonly functions: Functions; readonly api: RestApi },
  authorizer: Authorizer,
  request: ApiRequest,
  route: Route,
): Promise<Authorization> {
  // An identity source that is missing or empty is a 401 without an invocation.
  if (authorizer.identitySources.some((source) => !parameterOf(request, source, route))) {
    return refused(gatewayError('UNAUTHORIZED'));
  }
  const methodArn = methodArnOf(api, request);
  const event = { type: 'REQUEST', methodArn, ...eventOf(request, route, api) };
  const result = await functions.invoke(authorizer.functionArn, event);
  if (!result.ok) {
    // Exactly this text means 401; every other failure of the authorizer is a 500.
    return refused(gatewayError(result.error.errorMessage === 'Unauthorized' ? 'UNAUTHORIZED' : 'AUTHORIZER_FAILURE'));
  }
  const verdict = readVerdict(result.payload);
  if (!verdict) return refused(gatewayError('AUTHORIZER_CONFIGURATION_ERROR'));
  const facts = { ...verdict.context, principalId: verdict.principalId };
  const isLetIn = isAllowed(verdict.statements, { action: 'execute-api:Invoke', resource: methodArn });
  return isLetIn ? { ok: true, authorizer: facts } : refused(gatewayError('ACCESS_DENIED', { authorizer: facts }));
}

/** @returns `undefined` for an answer that API Gateway refuses. */
function readVerdict(payload: unknown): Verdict | undefined {
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

function refused(error: GatewayError): Authorization {
  return { ok: false, error };
}

/** ARN of the method that a request calls. An authorizer's policy is about such ARNs. */
export function methodArnOf(api: RestApi, { httpMethod, path }: Pick<ApiRequest, 'httpMethod' | 'path'>): string {
  return `arn:aws:execute-api:${api.region}:${accountId}:${api.id}/${api.stageName}/${httpMethod}${path}`;
}
