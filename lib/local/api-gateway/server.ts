import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { keepAliveMs, listen, refuseForeign, stopServer } from '../http.ts';
import type { Deployment } from '../template/deployment.ts';
import { prefixOf, readRequest } from './event.ts';
import { type ExchangeContext, type ExchangeResult, serve } from './exchange.ts';

/** What one API needs to serve. */
export interface ApiServices extends ExchangeContext {
  readonly now: () => Date;
  readonly onAccess: (line: string) => void;
}

/**
 * Listen for one API.
 *
 * @param ports tried in this order; 0 is any free one.
 * @returns `url` without stage and final slash. The API serves from `open` on; callers wait until then.
 * @throws EngineError when all of them are taken.
 */
export async function listenForApi(ports: readonly number[]) {
  const opened = Promise.withResolvers<ApiServices>();
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const known = await opened.promise;
    if (refuseForeign(request, response, known.api.ownHosts)) return;
    await answer(known, request, response);
  };
  // The gateway refuses long headers itself, below.
  const server = createServer({ maxHeaderSize: 128 * 1024 }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = keepAliveMs;
  const port = await listen(server, ports);
  return {
    url: `http://127.0.0.1:${port}`,
    open: opened.resolve,
    stop: () => stopServer(server),
  };
}

async function answer(context: ApiServices, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { api } = context;
  const [path = ''] = (incoming.url ?? '/').split('?');
  const prefix = prefixOf(incoming, api);
  if (path !== prefix && !path.startsWith(`${prefix}/`)) {
    response.writeHead(403, {
      'Content-Type': 'application/json',
      'x-amzn-RequestId': randomUUID(),
      'x-amzn-ErrorType': 'ForbiddenException',
    });
    response.end('{"message":"Forbidden"}');
    return;
  }
  const request = readRequest(incoming, api, context.now());
  const started = performance.now();
  const result = await serve(context, request, incoming, response);
  if (api.accessLogFormat === undefined) return;
  context.onAccess(
    accessLine(api.accessLogFormat, result, {
      requestId: request.requestId,
      extendedRequestId: request.requestId,
      requestTimeEpoch: String(request.receivedAt.getTime()),
      httpMethod: request.httpMethod,
      path: `${prefix}${request.path}`,
      status: String(response.statusCode),
      responseLatency: String(Math.round(performance.now() - started)),
      responseLength: String(response.getHeader('content-length') ?? '-'),
      'identity.sourceIp': request.sourceIp,
    }),
  );
}

function accessLine(format: string, result: ExchangeResult, known: Readonly<Record<string, string>>): string {
  const variables: Readonly<Record<string, string | undefined>> = {
    ...known,
    resourcePath: result.resourcePath,
    'authorizer.principalId': result.principalId,
    'error.responseType': result.errorType,
    integrationLatency: result.integration?.completed?.toString(),
    'integration.responseTransferMode': result.integration?.mode,
    'integration.timeToAllHeaders': result.integration?.allHeaders?.toString(),
    'integration.timeToFirstContent': result.integration?.firstContent?.toString(),
  };
  return format.replace(/\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)/g, (_, name: string) => variables[name] ?? '-');
}

const highestPort = 65_535;

/** One server an API; the one that the output `ProxyUrl` names gets the wanted port. */
export async function listenForApis(
  deployment: Deployment,
  ids: readonly string[],
  urls: Map<string, string>,
  port: number | undefined,
  cleanup: (() => unknown)[],
) {
  const { ProxyUrl: proxyUrl = '' } = deployment.outputs();
  const proxyFirst = [...ids].sort((a, b) => Number(proxyUrl.includes(b)) - Number(proxyUrl.includes(a)));
  const servers = new Map<string, Awaited<ReturnType<typeof listenForApi>>>();
  for (const [at, id] of proxyFirst.entries()) {
    const server = await listenForApi(!port ? [0] : at === 0 ? [port] : [Math.min(port + at, highestPort), 0]);
    cleanup.push(() => server.stop());
    servers.set(id, server);
    urls.set(id, server.url);
  }
  return servers;
}
