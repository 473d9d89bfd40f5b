import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openLater, refuseForeign } from '../http.ts';
import type { Deployment } from '../template/deployment.ts';
import { prefixOf, readRequest } from './event.ts';
import { type ExchangeContext, type ExchangeResult, serve } from './exchange.ts';

/** What one API needs to serve. */
interface ApiServices extends ExchangeContext {
  readonly now: () => Date;
  readonly onAccess: (line: string) => void;
}

async function answer(context: ApiServices, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { api } = context;
  if (refuseForeign(incoming, response, api.ownHosts)) return;
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
  cleanup: AsyncDisposableStack,
) {
  const { ProxyUrl: proxyUrl = '' } = deployment.outputs();
  const proxyFirst = [...ids].sort((a, b) => Number(proxyUrl.includes(b)) - Number(proxyUrl.includes(a)));
  const servers = new Map<string, Awaited<ReturnType<typeof openLater<ApiServices>>>>();
  for (const [at, id] of proxyFirst.entries()) {
    const ports = !port ? [0] : at === 0 ? [port] : [Math.min(port + at, highestPort), 0];
    // The gateway refuses long headers itself.
    const server = await openLater(ports, answer, { maxHeaderSize: 128 * 1024 });
    cleanup.defer(() => server.stop());
    servers.set(id, server);
    urls.set(id, server.url);
  }
  return servers;
}
