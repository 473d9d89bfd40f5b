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

/** Runs REQUEST authorizers and keeps their results for as long as the template says. */
export class AuthorizerRunner {
  readonly #functions: Functions;
  readonly #api: RestApi;
  readonly #kept = new Map<string, { readonly verdict: Verdict; readonly until: number }>();

  constructor(functions: Functions, api: RestApi) {
    this.#functions = functions;
    this.#api = api;
  }

  async authorize(authorizer: Authorizer, request: ApiRequest, route: Route): Promise<Authorization> {
    const identity = authorizer.identitySources.map((source) => parameterOf(request, source, route));
    // An identity source that is missing or empty is a 401 without an invocation.
    if (identity.some((value) => !value)) return refused(gatewayError('UNAUTHORIZED'));
    const api = this.#api;
    const methodArn = methodArnOf(api, request);
    const verdict = await this.#verdict(
      authorizer,
      JSON.stringify([authorizer.id, identity]),
      request,
      route,
      methodArn,
    );
    if ('type' in verdict) return refused(verdict);
    const facts = { ...verdict.context, principalId: verdict.principalId };
    if (!isAllowed(verdict.statements, { action: 'execute-api:Invoke', resource: methodArn })) {
      return refused(gatewayError('ACCESS_DENIED', { authorizer: facts }));
    }
    return { ok: true, authorizer: facts };
  }

  async #verdict(
    authorizer: Authorizer,
    key: string,
    request: ApiRequest,
    route: Route,
    methodArn: string,
  ): Promise<Verdict | GatewayError> {
    const now = request.receivedAt.getTime();
    const kept = this.#kept.get(key);
    if (kept && kept.until > now) return kept.verdict;
    const event = { type: 'REQUEST', methodArn, ...eventOf(request, route, this.#api) };
    const result = await this.#functions.invoke(authorizer.functionArn, event);
    if (!result.ok) {
      // Exactly this text means 401; every other failure of the authorizer is a 500.
      return gatewayError(result.error.errorMessage === 'Unauthorized' ? 'UNAUTHORIZED' : 'AUTHORIZER_FAILURE');
    }
    const verdict = readVerdict(result.payload);
    if (!verdict) return gatewayError('AUTHORIZER_CONFIGURATION_ERROR');
    if (authorizer.ttlSeconds > 0) this.#kept.set(key, { verdict, until: now + authorizer.ttlSeconds * 1000 });
    return verdict;
  }
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
