import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

type Multi = Readonly<Record<string, string[] | undefined>> | null | undefined;
type Single = Readonly<Record<string, string | undefined>> | null | undefined;

/** A request of an API Gateway REST API (Lambda proxy integration, event version 1.0). */
export function requestOf(event: APIGatewayProxyEvent): HttpRequest {
  return {
    requestId: event.requestContext.requestId,
    method: event.httpMethod.toUpperCase(),
    path: event.path,
    headers: headersOf(event),
    query: valuesByName(event.multiValueQueryStringParameters, event.queryStringParameters),
    pathParameters: new Map(Object.entries(event.pathParameters ?? {}).map(([name, value]) => [name, value ?? ''])),
    body: event.body ? Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8') : undefined,
    authorizer: event.requestContext.authorizer ?? {},
  };
}

/** Header values by lower-case name. Two spellings of one name are two values. */
export function headersOf(event: { multiValueHeaders?: Multi; headers?: Single }): Map<string, readonly string[]> {
  const headers = new Map<string, readonly string[]>();
  for (const [name, values] of valuesByName(event.multiValueHeaders, event.headers)) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), ...values]);
  }
  return headers;
}

/** The gateway sends both maps, the single one with the last value only. Other callers may send that one alone. */
function valuesByName(multi: Multi, single: Single): Map<string, readonly string[]> {
  const values = new Map<string, readonly string[]>();
  for (const [name, all] of Object.entries(multi ?? {})) if (all) values.set(name, all);
  if (values.size > 0) return values;
  for (const [name, value] of Object.entries(single ?? {})) if (value !== undefined) values.set(name, [value]);
  return values;
}

/** A buffered reply in the shape the gateway reads. */
export function resultOf(reply: HttpReply): APIGatewayProxyResult {
  return { statusCode: reply.status, headers: { ...reply.headers }, body: reply.body };
}
