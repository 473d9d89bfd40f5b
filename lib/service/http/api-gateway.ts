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

/** A reply to HEAD is the one to GET without its body (RFC 9110 § 9.3.2). API Gateway counts the length, so it says 0. */
export function resultOf(reply: HttpReply, method: string): APIGatewayProxyResult {
  return { statusCode: reply.status, headers: { ...reply.headers }, body: method === 'HEAD' ? '' : reply.body };
}

/** The parts of an event that tell the address of the API. */
export type AddressedEvent = Pick<APIGatewayProxyEvent, 'headers' | 'resource'> & {
  readonly requestContext: Pick<APIGatewayProxyEvent['requestContext'], 'domainName' | 'path'>;
};

/**
 * URL of the API as the caller of this request sees it: stage or base path included, without a slash at the end. Always https,
 * except on a local engine.
 *
 * `path` of the context begins with the stage, or with the base path of a custom domain (the event's own `path` has only
 * the second); the resource begins where the API does.
 */
export function baseUrlOf(event: AddressedEvent): string {
  const { path } = event.requestContext;
  const [literal = ''] = event.resource.split('/{');
  const at = path.indexOf(literal);
  return `${originOf(event)}${at > 0 ? path.slice(0, at) : ''}`;
}

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Origin of the API as the caller of this request sees it (RFC 6454 § 6.1). It follows a custom domain name. The gateway's domain
 * name lacks the port of a local engine, which `Host` has.
 */
export function originOf({ headers, requestContext: { domainName = '' } }: Omit<AddressedEvent, 'resource'>): string {
  if (!loopback.test(domainName)) return `https://${domainName}`;
  const header = (name: string) =>
    Object.entries(headers ?? {}).find(([other]) => other.toLowerCase() === name)?.[1] ?? '';
  const port = /:\d{1,5}$/.exec(header('host'))?.[0] ?? '';
  return `${header('x-forwarded-proto') === 'http' ? 'http' : 'https'}://${domainName}${port}`;
}
