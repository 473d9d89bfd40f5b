import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import type { RequestParts } from './http-request.ts';

const requestContext = { requestId: 'gateway-request', stage: 'v1', path: '/v1/files' };

/** An event of an API Gateway REST API with a Lambda proxy integration, with the members that these functions may read. */
export function gatewayEvent(parts: RequestParts & { readonly isBase64Encoded?: boolean }): APIGatewayProxyEvent {
  const { headers = {}, query = {}, pathParameters, body } = parts;
  const event: Partial<APIGatewayProxyEvent> = {
    httpMethod: parts.method ?? 'GET',
    path: parts.path ?? '/files',
    pathParameters: pathParameters ? { ...pathParameters } : null,
    headers: last(headers),
    multiValueHeaders: all(headers),
    queryStringParameters: Object.keys(query).length > 0 ? last(query) : null,
    multiValueQueryStringParameters: Object.keys(query).length > 0 ? all(query) : null,
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    isBase64Encoded: parts.isBase64Encoded ?? false,
    requestContext: { ...requestContext, authorizer: parts.authorizer } as APIGatewayProxyEvent['requestContext'],
  };
  return event as APIGatewayProxyEvent;
}

/** The event of a REQUEST authorizer for `POST /export/fega`. */
export function authorizerEvent(
  authorization: string | readonly string[] | undefined,
): APIGatewayRequestAuthorizerEvent {
  return authorizerEventOf(authorization === undefined ? {} : { authorization });
}

/** As {@link authorizerEvent}, with any headers. */
export function authorizerEventOf(headers: Values): APIGatewayRequestAuthorizerEvent {
  const event: Partial<APIGatewayRequestAuthorizerEvent> = {
    type: 'REQUEST',
    methodArn: 'arn:aws:execute-api:eu-north-1:111122223333:abcdef1234/v1/POST/export/fega',
    resource: '/export/fega',
    path: '/export/fega',
    httpMethod: 'POST',
    headers: last(headers),
    multiValueHeaders: all(headers),
    requestContext: requestContext as APIGatewayRequestAuthorizerEvent['requestContext'],
  };
  return event as APIGatewayRequestAuthorizerEvent;
}

type Values = Readonly<Record<string, string | readonly string[]>>;

const valuesOf = (value: string | readonly string[]): string[] => (typeof value === 'string' ? [value] : [...value]);

/** The gateway keeps the last of repeated values in the single-value maps. */
function last(values: Values): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valuesOf(value).at(-1) ?? '']));
}

function all(values: Values): Record<string, string[]> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valuesOf(value)]));
}
