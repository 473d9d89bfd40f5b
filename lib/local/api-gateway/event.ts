import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { accountId } from '../template/names.ts';
import type { RestApi } from './model.ts';
import type { Route } from './router.ts';

/** A request as API Gateway receives it. */
export interface ApiRequest {
  readonly requestId: string;
  readonly httpMethod: string;
  /** What the caller's path has before `path`: a slash and the stage, or nothing with a host name of the operator's own. */
  readonly prefix: string;
  /** Raw, without the stage. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names as the client wrote them. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly sourceIp: string;
  readonly receivedAt: Date;
}

/** Request headers that API Gateway drops (developer guide, known issues). */
const droppedHeaders = new Set([
  'connection',
  'content-length',
  'content-md5',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
]);

/** See `prefix` of {@link ApiRequest}. */
export function prefixOf({ headers: { host = '' } }: IncomingMessage, api: RestApi): string {
  return api.ownHosts.includes(host) ? '' : `/${api.stageName}`;
}

export function readRequest(request: IncomingMessage, api: RestApi, now: Date): ApiRequest {
  const [rawPath = '/', rawQuery = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
  const sourceIp = request.socket.remoteAddress ?? '127.0.0.1';
  const headers: Record<string, string[]> = {};
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(at, at + 2);
    if (droppedHeaders.has(name.toLowerCase())) continue;
    const known = Object.keys(headers).find((other) => other.toLowerCase() === name.toLowerCase()) ?? name;
    headers[known] = [...(headers[known] ?? []), value];
  }
  headers['X-Amzn-Trace-Id'] = [`Root=1-${hex(4)}-${hex(12)}`];
  headers['X-Forwarded-For'] = [sourceIp];
  headers['X-Forwarded-Port'] = [String(request.socket.localPort ?? 443)];
  headers['X-Forwarded-Proto'] = ['http'];
  const prefix = prefixOf(request, api);
  return {
    requestId: randomUUID(),
    httpMethod: request.method ?? 'GET',
    prefix,
    path: rawPath.slice(prefix.length) || '/',
    query: new URLSearchParams(rawQuery),
    headers,
    sourceIp,
    receivedAt: now,
  };
}

/** Value of a `header.X`, `querystring.X` or `path.X` mapping; the last one when it occurs several times. */
export function parameterOf(request: ApiRequest, source: string, route?: Route): string | undefined {
  const [, place, name = ''] = /^(header|querystring|path)\.(.+)$/.exec(source) ?? [];
  if (place === 'querystring') return request.query.getAll(name).at(-1);
  if (place === 'path') return route?.pathParameters[name];
  const header = Object.keys(request.headers).find((other) => other.toLowerCase() === name.toLowerCase());
  return header === undefined ? undefined : request.headers[header]?.at(-1);
}

/** What callers have who do not sign by AWS credentials, have no API key and no certificate. */
const noIdentity = Object.fromEntries(
  [
    ...['accessKey', 'accountId', 'apiKey', 'apiKeyId', 'caller', 'clientCert', 'principalOrgId', 'user', 'userArn'],
    ...['cognitoAuthenticationProvider', 'cognitoAuthenticationType', 'cognitoIdentityId', 'cognitoIdentityPoolId'],
  ].map((name) => [name, null]),
);

/** The parts that the proxy event (version 1.0) and the authorizer's event share. */
export function eventOf(request: ApiRequest, route: Route, api: RestApi) {
  const query = [...new Set(request.query.keys())];
  const { pathParameters, method } = route;
  // The name that the client called, without the port.
  const domainName = (parameterOf(request, 'header.Host') ?? 'localhost').replace(/:\d+$/, '');
  return {
    resource: method.resourcePath,
    path: request.path,
    httpMethod: request.httpMethod,
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, values]) => [name, values.at(-1)])),
    multiValueHeaders: request.headers,
    queryStringParameters: orNull(query.map((name) => [name, request.query.getAll(name).at(-1)])),
    multiValueQueryStringParameters: orNull(query.map((name) => [name, request.query.getAll(name)])),
    pathParameters: orNull(Object.entries(pathParameters)),
    stageVariables: null,
    requestContext: {
      accountId,
      apiId: api.id,
      domainName,
      domainPrefix: domainName.split('.')[0],
      extendedRequestId: request.requestId,
      httpMethod: request.httpMethod,
      identity: {
        ...noIdentity,
        sourceIp: request.sourceIp,
        userAgent: parameterOf(request, 'header.User-Agent') ?? null,
      },
      path: `${request.prefix}${request.path}`,
      protocol: 'HTTP/1.1',
      requestId: request.requestId,
      requestTime: request.receivedAt.toUTCString(),
      requestTimeEpoch: request.receivedAt.getTime(),
      resourceId: method.resourceId,
      resourcePath: method.resourcePath,
      stage: api.stageName,
    },
  };
}

function orNull(entries: (readonly [string, unknown])[]): Readonly<Record<string, unknown>> | null {
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
