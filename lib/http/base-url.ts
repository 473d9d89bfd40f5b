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
export function baseUrlOf({ headers, resource, requestContext }: AddressedEvent): string {
  const { domainName = '', path } = requestContext;
  const [literal = ''] = resource.split('/{');
  const at = path.indexOf(literal);
  return `${originOf(domainName, headers)}${at > 0 ? path.slice(0, at) : ''}`;
}

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** The gateway's domain name lacks the port of a local engine, which `Host` has. */
function originOf(domainName: string, headers: AddressedEvent['headers']): string {
  if (!loopback.test(domainName)) return `https://${domainName}`;
  const header = (name: string) =>
    Object.entries(headers ?? {}).find(([other]) => other.toLowerCase() === name)?.[1] ?? '';
  const port = /:\d{1,5}$/.exec(header('host'))?.[0] ?? '';
  return `${header('x-forwarded-proto') === 'http' ? 'http' : 'https'}://${domainName}${port}`;
}
