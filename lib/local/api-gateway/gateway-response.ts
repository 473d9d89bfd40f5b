import type { GatewayResponse, RestApi } from './model.ts';

/** An error that API Gateway answers automatically. */
export interface GatewayError {
  readonly type: string;
  readonly status: number;
  readonly message: string;
  /** `$context.error.validationErrorString`. */
  readonly validationError?: string;
  /** `$context.authorizer.…`: what the authorizer said with its refusal. */
  readonly authorizer?: Readonly<Record<string, unknown>>;
}

/** Status and message of the response types that occur, before the template changes them. */
const types = {
  ACCESS_DENIED: [403, 'User is not authorized to access this resource'],
  AUTHORIZER_CONFIGURATION_ERROR: [500, 'Internal server error'],
  AUTHORIZER_FAILURE: [500, 'Internal server error'],
  BAD_REQUEST_PARAMETERS: [400, 'Missing required request parameters'],
  DEFAULT_4XX: [400, 'Bad Request'],
  DEFAULT_5XX: [502, 'Internal server error'],
  INTEGRATION_TIMEOUT: [504, 'Endpoint request timed out'],
  MISSING_AUTHENTICATION_TOKEN: [403, 'Missing Authentication Token'],
  REQUEST_TOO_LARGE: [413, 'Request Too Long'],
  UNAUTHORIZED: [401, 'Unauthorized'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

export type GatewayErrorType = keyof typeof types;

export function gatewayError(type: GatewayErrorType, details: Partial<GatewayError> = {}): GatewayError {
  const [status, message] = types[type];
  return { type, status, message, ...details };
}

export interface RenderedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Give an error the form that the template's gateway responses ask for. */
export function renderGatewayResponse(
  error: GatewayError,
  api: RestApi,
  context: {
    readonly requestId: string;
    readonly path: string;
    readonly httpMethod: string;
    readonly accept: string | undefined;
  },
): RenderedResponse {
  const fallback = api.gatewayResponses.get(error.status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX');
  const response = api.gatewayResponses.get(error.type) ?? fallback;
  const variables: Readonly<Record<string, string>> = {
    'context.error.message': error.message,
    'context.error.messageString': JSON.stringify(error.message),
    'context.error.responseType': error.type,
    'context.error.validationErrorString': error.validationError ?? '',
    'context.httpMethod': context.httpMethod,
    'context.path': context.path,
    'context.requestId': context.requestId,
    'context.stage': api.stageName,
    ...Object.fromEntries(
      Object.entries(error.authorizer ?? {}).map(([name, value]) => [`context.authorizer.${name}`, String(value)]),
    ),
  };
  const [mediaType, template] = chooseTemplate(response, context.accept);
  return {
    // "DEFAULT_4XX's status code overrides all others if set" (APIGW supported-gateway-response-types).
    status: response?.status ?? fallback?.status ?? error.status,
    headers: {
      'Content-Type': mediaType,
      'x-amzn-RequestId': context.requestId,
      'x-amzn-ErrorType': error.type,
      ...response?.headers,
    },
    body: render(template, variables),
  };
}

function chooseTemplate(response: GatewayResponse | undefined, accept: string | undefined): readonly [string, string] {
  const templates = response?.templates ?? {};
  const wanted = accept?.split(',')[0]?.trim();
  for (const mediaType of [wanted, 'application/json', ...Object.keys(templates)]) {
    const template = mediaType === undefined ? undefined : templates[mediaType];
    if (mediaType !== undefined && template !== undefined) return [mediaType, template];
  }
  return ['application/json', '{"message":$context.error.messageString}'];
}

/** Gateway response templates are plain variable substitution, not VTL. */
function render(template: string, variables: Readonly<Record<string, string>>): string {
  return template.replace(/\$(context(?:\.[A-Za-z]+)+)/g, (_, name: string) => variables[name] ?? '');
}
