import type { APIGatewayProxyEvent } from 'aws-lambda';

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
