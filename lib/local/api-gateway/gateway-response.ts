import type { RestApi } from './model.ts';

/** An error that API Gateway answers automatically. */
export interface GatewayError {
  readonly type: string;
  readonly status: number;
  /** `$context.error.validationErrorString`. */
  readonly validationError?: string;
  /** `$context.authorizer.…`: what the authorizer said with its refusal. */
  readonly authorizer?: Readonly<Record<string, unknown>>;
}

/** Status of the response types that occur, before the template changes it. */
const types = {
  ACCESS_DENIED: 403,
  AUTHORIZER_CONFIGURATION_ERROR: 500,
  AUTHORIZER_FAILURE: 500,
  BAD_REQUEST_PARAMETERS: 400,
  DEFAULT_4XX: 400,
  DEFAULT_5XX: 502,
  INTEGRATION_TIMEOUT: 504,
  MISSING_AUTHENTICATION_TOKEN: 403,
  REQUEST_TOO_LARGE: 413,
  UNAUTHORIZED: 401,
} as const;

export function gatewayError(type: keyof typeof types, details: Partial<GatewayError> = {}): GatewayError {
  return { type, status: types[type], ...details };
}

/** Give an error the form that the template's gateway responses ask for. */
export function renderGatewayResponse(
  error: GatewayError,
  api: RestApi,
  requestId: string,
): { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const fallback = api.gatewayResponses.get(error.status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX');
  const response = api.gatewayResponses.get(error.type) ?? fallback;
  const variables: Readonly<Record<string, string>> = {
    'context.error.validationErrorString': error.validationError ?? '',
    'context.requestId': requestId,
    ...Object.fromEntries(
      Object.entries(error.authorizer ?? {}).map(([name, value]) => [`context.authorizer.${name}`, String(value)]),
    ),
  };
  return {
    // "DEFAULT_4XX's status code overrides all others if set" (APIGW supported-gateway-response-types).
    status: response?.status ?? fallback?.status ?? error.status,
    headers: {
      'x-amzn-RequestId': requestId,
      'x-amzn-ErrorType': error.type,
      ...response?.headers,
    },
    body: render(response?.template ?? '', variables),
  };
}

/** Gateway response templates are plain variable substitution, not VTL. */
function render(template: string, variables: Readonly<Record<string, string>>): string {
  return template.replace(/\$(context(?:\.[A-Za-z]+)+)/g, (_, name: string) => variables[name] ?? '');
}
