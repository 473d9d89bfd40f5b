import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { directChallenge } from '../../../lib/contract/http.ts';
import { gatewayError, renderGatewayResponse } from '../../../lib/local/api-gateway/gateway-response.ts';
import type { RestApi } from '../../../lib/local/api-gateway/model.ts';
import type { AwsCall } from '../../../lib/local/endpoint/traffic.ts';
import { problemReply } from '../../../lib/service/http/problem.ts';
import {
  apis,
  call,
  crypt4gh,
  documentedService,
  drs,
  expectStatus,
  exported,
  fromDatabase,
  good,
  having,
  headersOf,
  huge,
  key,
  large,
  small,
  staged,
  whileFailing,
} from '../../helpers/documented-calls.ts';
import { basic, Service } from '../../helpers/service.ts';
import { show, stackTemplate } from '../../helpers/template.ts';

/**
 * Every status of every route of both APIs, compared with docs/openapi: the documents have every answer, and the
 * service gives every answer of the documents.
 */

let service: Service;

beforeAll(async () => {
  service = await Service.shared();
  await documentedService(service);
});
afterAll(() => service?.stop());

describe('the proxy', () => {
  test('export', async () => {
    const post = 'proxy POST /export/{archive_kind}';
    await expectStatus(200, post);
    await expectStatus(400, post, { body: '{"id": ""}' });
    await expectStatus(401, post, headersOf(post, { Authorization: [] }));
    await expectStatus(403, post, headersOf(post, { Authorization: basic(service.engine.accounts.withoutRole) }));
    await expectStatus(404, post, { path: 'export/other' });
    await expectStatus(413, post, { body: Buffer.alloc(10 * 1024 * 1024 + 1, 32) });
  });

  test('the state of exports, and the page that shows it', async () => {
    const list = 'proxy GET /export/{archive_kind}';
    const { text } = await expectStatus(200, list, { path: 'export/fega?state=staging&since=2026-11-21&page=0' });
    expect(JSON.parse(text)).toMatchObject({ exports: [{ requestId: exported }], page: 0 });
    await expectStatus(400, list, { path: 'export/fega?state=x&since=y&page=z' });
    await expectStatus(404, list, { path: 'export/other' });
    const show = 'proxy GET /export/{archive_kind}/{requestId}';
    const reply = await expectStatus(200, show);
    expect(JSON.parse(reply.text)).toMatchObject({ state: 'staging', counts: { total: 3, staged: 1 }, bytes: 10 });
    await expectStatus(400, show, { path: 'export/fega/no-uuid' });
    await expectStatus(404, show, { path: `export/fega/${exported.replace(/1$/, '2')}` });
    const page = 'proxy GET /admin';
    await expectStatus(200, page);
    for (const operation of [list, show, page]) {
      await expectStatus(401, operation, headersOf(operation, { Authorization: [] }));
      await expectStatus(
        403,
        operation,
        headersOf(operation, { Authorization: basic(service.engine.accounts.withoutRole) }),
      );
    }
  });

  test('list and stream', async () => {
    const list = 'proxy GET /files';
    await expectStatus(200, list);
    await expectStatus(200, list, { path: 'files?inbox=false&receipts=true' });
    await expectStatus(400, list, { path: 'files' });
    await expectStatus(400, list, { path: 'files?inbox=false&page=x&per_page=y' });
    await expectStatus(401, list, headersOf(list, { 'X-GA4GH-Visa': [] }));
    await expectStatus(200, 'proxy GET /stream/{file}', { path: `stream/${staged}?redirect=false` });
    await expectStatus(307, 'proxy GET /stream/{file}');
    await expectStatus(200, 'proxy HEAD /stream/{file}');
    for (const operation of ['proxy GET /stream/{file}', 'proxy HEAD /stream/{file}']) {
      await expectStatus(400, operation, { path: `stream/${staged}?redirect=perhaps` });
      await expectStatus(401, operation, headersOf(operation, { 'X-GA4GH-Visa': 'a.b.c' }));
      await expectStatus(404, operation, { path: 'stream/nothing.c4gh' });
    }
  });
});

describe('direct access', () => {
  test('a call without a visa is refused, and a caller sees only what a visa grants', async () => {
    const headers = { Authorization: `Bearer ${await service.visa({ datasetId: 'EGAD2' })}` };
    for (const operation of having(401)) {
      if (!operation.startsWith('data-out ') || operation.includes(' POST ')) continue;
      await expectStatus(401, operation, { headers: {} });
      await expectStatus(401, operation, { headers: { Authorization: 'Bearer a.b.c' } });
      if (having(403).includes(operation)) await expectStatus(403, operation, headersOf(operation, headers));
    }
  });

  test('datasets', async () => {
    await expectStatus(200, 'data-out GET /metadata/datasets');
    const files = await expectStatus(200, 'data-out GET /metadata/datasets/{datasetId}/files');
    expect(JSON.parse(files.text)).toHaveLength(7);
    const path = 'metadata/datasets/EGAD1/files?per_page=4';
    const page = await expectStatus(200, 'data-out GET /metadata/datasets/{datasetId}/files', { path });
    const last = JSON.parse(page.text).at(-1);
    const next = { path: `${path}&after=${last.fileId}` };
    const rest = await expectStatus(200, 'data-out GET /metadata/datasets/{datasetId}/files', next);
    expect([...JSON.parse(page.text), ...JSON.parse(rest.text)]).toEqual(JSON.parse(files.text));
    const wrong = { path: `${path}&after=EGAF404` };
    await expectStatus(400, 'data-out GET /metadata/datasets/{datasetId}/files', wrong);
  });

  const plain = { small: `files/${small}`, large: `files/${large}`, huge: `files/${huge}` };
  const named = { small: `files/${small}/a.vcf`, large: `files/${large}/b.bam`, huge: `files/${huge}/c.bam` };
  test.each([
    ['/files/{fileId}', plain],
    ['/files/{fileId}/{name}', named],
  ])('%s', async (route, paths) => {
    const [get, head] = [`data-out GET ${route}`, `data-out HEAD ${route}`];
    await expectStatus(206, get, headersOf(get, { Range: 'bytes=10-19' }));
    await expectStatus(307, get, { path: `${paths.large}?${crypt4gh}`, ...headersOf(get, { 'Public-Key': key }) });
    await expectStatus(200, get, {
      path: `${paths.large}?${crypt4gh}&redirect=false`,
      ...headersOf(get, { 'Public-Key': key }),
    });
    await expectStatus(413, get, { path: paths.huge });
    await expectStatus(416, get, headersOf(get, { Range: 'bytes=100000-' }));
    for (const operation of [get, head]) {
      const { etag = '' } = (await expectStatus(200, operation)).headers;
      await expectStatus(304, operation, headersOf(operation, { 'If-None-Match': etag }));
      await expectStatus(412, operation, headersOf(operation, { 'If-Match': '"other"' }));
      await expectStatus(400, operation, { path: `${paths.small}?destinationFormat=ZIP&startCoordinate=1` });
      await expectStatus(416, operation, { path: `${paths.small}?startCoordinate=100000&endCoordinate=100001` });
      await expectStatus(200, operation, {
        path: `${paths.small}?${crypt4gh}&startCoordinate=7&endCoordinate=9`,
        ...headersOf(operation, { 'X-C4GH-Public-Key': key }),
      });
      if (route.endsWith('{name}')) await expectStatus(404, operation, { path: `files/${small}/b.vcf` });
    }
  });

  test('header and content apart', async () => {
    for (const method of ['GET', 'HEAD']) {
      const header = `data-out ${method} /files/{fileId}/header`;
      const { etag = '' } = (await expectStatus(200, header)).headers;
      await expectStatus(304, header, headersOf(header, { 'If-None-Match': etag }));
      await expectStatus(412, header, headersOf(header, { 'If-Match': '"other"' }));
      await expectStatus(400, header, headersOf(header, { 'Public-Key': 'none' }));
      const content = `data-out ${method} /files/{fileId}/content`;
      const body = await expectStatus(method === 'GET' ? 307 : 200, content);
      await expectStatus(304, content, headersOf(content, { 'If-None-Match': body.headers.etag ?? '' }));
      await expectStatus(412, content, headersOf(content, { 'If-Match': '"other"' }));
      await expectStatus(400, content, { path: `files/${small}/content?redirect=perhaps` });
    }
    const header = 'data-out GET /files/{fileId}/header';
    await expectStatus(206, header, headersOf(header, { Range: 'bytes=0-15' }));
    await expectStatus(416, header, headersOf(header, { Range: 'bytes=100000-' }));
    await expectStatus(200, 'data-out GET /files/{fileId}/content', { path: `files/${small}/content?redirect=false` });
  });

  test('what needs no credentials', async () => {
    for (const operation of Object.keys(good).filter((one) =>
      /(service-info|openapi\.json|jwks\.json)$|OPTIONS/.test(one),
    )) {
      await expectStatus(operation.includes('OPTIONS /htsget') ? 204 : 200, operation);
    }
  });

  test('the document is served with the address under which it was asked for', async () => {
    for (const [api, url] of [
      ['proxy', service.connection.proxyUrl],
      ['data-out', service.connection.dataOutUrl],
    ] as const) {
      const { servers, ...document } = JSON.parse((await call(`${api} GET /openapi.json`)).text) as {
        servers: unknown;
      };
      expect(servers).toEqual([{ url: url.replace(/\/$/, '') }]);
      expect(document).toEqual({ ...apis[api].document, servers: undefined });
    }
  });
});

describe('DRS', () => {
  const object = `data-out GET /${drs}/objects/{object_id}`;
  const access = `data-out GET /${drs}/objects/{object_id}/access/{access_id}`;
  const posted = (operation: string) => operation.replace(' GET ', ' POST ');
  const json = { 'Content-Type': 'application/json' };

  test('answers GET and POST alike', async () => {
    const { text } = await expectStatus(200, object);
    expect(JSON.parse(text)).toMatchObject({ id: small, name: 'a.vcf', size: 100_000 });
    expect(JSON.parse((await expectStatus(200, posted(object))).text)).toEqual(JSON.parse(text));
    for (const operation of [access, posted(access)]) {
      await expectStatus(404, operation, { path: `${drs}/objects/${small}/access/s3` });
    }
    for (const operation of [posted(object), posted(access)]) {
      await expectStatus(400, operation, { body: '{"passports": [7]}' });
      await expectStatus(401, operation, { body: '{"passports": ["a.b.c"]}' });
      const other = await service.visa({ datasetId: 'EGAD2' });
      await expectStatus(403, operation, { body: JSON.stringify({ passports: [other] }), headers: json });
      await expectStatus(413, operation, { body: Buffer.alloc(10 * 1024 * 1024 + 1, 32) });
    }
    const bulk = JSON.stringify({ passports: [await service.visa()], bulk_object_ids: [small] });
    await expectStatus(404, posted(object), { path: `${drs}/objects/access`, body: bulk, headers: json });
    await expectStatus(404, `data-out OPTIONS /${drs}/objects/{object_id}`, {
      path: `${drs}/objects/${'x'.repeat(257)}`,
    });
  });

  test('a client that knows nothing of this service gets the bytes: object, access id, URL with its headers', async () => {
    for (const operation of [object, posted(object)]) {
      const { access_methods, size, checksums, self_uri } = JSON.parse((await call(operation)).text) as {
        access_methods: { type: string; access_id: string }[];
        size: number;
        checksums: { type: string; checksum: string }[];
        self_uri: string;
      };
      const [method] = access_methods;
      expect([method?.type, self_uri]).toEqual(['https', `drs://127.0.0.1/${small}`]);
      const path = `${drs}/objects/${small}/access/${method?.access_id}`;
      const reply = await call(operation === object ? access : posted(access), { path });
      const { url, headers } = JSON.parse(reply.text) as { url: string; headers: string[] };
      const sent = headers.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
      const bytes = Buffer.from(await (await fetch(url, { headers: sent })).arrayBuffer());
      expect(bytes).toHaveLength(size);
      const sha256 = checksums.find(({ type }) => type === 'sha-256')?.checksum;
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    }
  });
});

describe('htsget', () => {
  const tickets = ['reads', 'variants'].flatMap((datatype) =>
    ['GET', 'POST'].map((method) => `data-out ${method} /htsget/${datatype}/{id}`),
  );
  const pieces = ['GET', 'HEAD'].map((method) => `data-out ${method} /htsget/parts/{id}/{part}`);
  const [piece = ''] = pieces;

  test('of a ticket', async () => {
    for (const operation of tickets) {
      const { path = '' } = good[operation] ?? {};
      const isPost = operation.includes('POST');
      await expectStatus(200, operation);
      const asked = (more: object, query: string) =>
        isPost ? { body: JSON.stringify(more) } : { path: `${path}?${query}` };
      await expectStatus(400, operation, asked({ class: 'body' }, 'class=body'));
      await expectStatus(404, operation, asked({ regions: [{ referenceName: 'nine' }] }, 'referenceName=nine'));
      await expectStatus(413, operation, asked({ fields: 'x'.repeat(1_000_000) }, 'referenceName=one'));
      if (!isPost) continue;
      await expectStatus(401, operation, headersOf(operation, { Authorization: 'Bearer a.b.c' }));
      const other = await service.visa({ datasetId: 'EGAD2' });
      await expectStatus(403, operation, headersOf(operation, { Authorization: `Bearer ${other}` }));
    }
  });

  test('of a piece', async () => {
    for (const operation of pieces) {
      const { path = '' } = good[operation] ?? {};
      const { headers } = await expectStatus(200, operation);
      await expectStatus(304, operation, headersOf(operation, { 'If-None-Match': String(headers.etag) }));
      await expectStatus(404, operation, { path: path.replace('records', 'trailer') });
      await expectStatus(412, operation, headersOf(operation, { 'If-Match': '"other"' }));
    }
    await expectStatus(206, piece, headersOf(piece, { Range: 'bytes=0-9' }));
    await expectStatus(416, piece, headersOf(piece, { Range: 'bytes=100000-' }));
    await expectStatus(400, piece, headersOf(piece, { Range: ['bytes=0-1', 'bytes=0-2'] }));
  });
});

describe('what goes wrong', () => {
  const fromS3 = ({ service: name, caller }: AwsCall) => name === 's3' && /^(files|stream)$/.test(caller);
  const fromCatalogue = ({ service: name, caller }: AwsCall) => name === 'rds-data' && caller !== 'authorize-outbox';
  const fromKms = ({ service: name }: AwsCall) => name === 'kms';
  const outboxRoutes = ['proxy GET /files', 'proxy GET /stream/{file}', 'proxy HEAD /stream/{file}'];

  test('the database, S3 or KMS refuses the function: 500', async () => {
    const denied = (code: string) => ({ error: { status: 403, code } });
    // The function of the keys asks KMS once.
    await service.engine.functions.recycle();
    await Promise.all([
      whileFailing(denied('AccessDeniedException'), fromKms, ['proxy GET /.well-known/jwks.json'], 500),
      whileFailing(denied('AccessDeniedException'), fromCatalogue, fromDatabase(500), 500),
      whileFailing(denied('AccessDenied'), fromS3, outboxRoutes, 500),
    ]);
  });

  test('a URL of more than 10,240 bytes, or a path that is longer than an authorizer can be asked about: 414', async () => {
    const query = `x=${'x'.repeat(10_240)}`;
    for (const [operation, { path }] of Object.entries(good)) {
      await expectStatus(414, operation, { path: `${path}${path.includes('?') ? '&' : '?'}${query}` });
    }
    await expectStatus(414, 'proxy GET /stream/{file}', { path: `stream/${'x'.repeat(1_600)}` });
  });

  test('headers of more than 10,240 bytes: 431', async () => {
    const headers = { 'X-Long': 'x'.repeat(10_240) };
    for (const operation of Object.keys(good)) await expectStatus(431, operation, headersOf(operation, headers));
  });
});

/**
 * Statuses that no call can provoke here. 429: the engine has no throttle. 502: the functions answer in the form that
 * the gateway knows. 504: takes the 29 seconds that the gateway waits. They are the gateway's own, from the template.
 */
test.each([
  ['THROTTLED', 429],
  ['INTEGRATION_FAILURE', 502],
  ['DEFAULT_5XX', 502],
  ['INTEGRATION_TIMEOUT', 504],
] as const)('the gateway’s own %s is what every route says of %i', async (type, status) => {
  const { all } = await stackTemplate('DataOutService');
  for (const [api, construct] of [
    ['proxy', 'ProxyApi'],
    ['data-out', 'DataOutApi'],
  ] as const) {
    const ofApi = all('AWS::ApiGateway::GatewayResponse').filter(
      ({ Properties }) => show(Properties.RestApiId) === construct,
    );
    const gatewayResponses: RestApi['gatewayResponses'] = new Map(
      ofApi.map(({ Properties }) => [
        Properties.ResponseType,
        {
          status: Properties.StatusCode && Number(Properties.StatusCode),
          headers: Object.fromEntries(
            Object.entries(Properties.ResponseParameters).map(([name, value]) => [
              name.split('.').pop(),
              String(value).slice(1, -1),
            ]),
          ),
          templates: Properties.ResponseTemplates,
        },
      ]),
    );
    for (const operation of having(status).filter((one) => one.startsWith(`${api} `))) {
      const [, method = '', path = ''] = operation.split(' ');
      const reply = renderGatewayResponse(
        { ...gatewayError('DEFAULT_5XX', { status }), type },
        { gatewayResponses } as RestApi,
        { requestId: 'r1', httpMethod: method, path, accept: undefined },
      );
      const body = method === 'HEAD' ? '' : reply.body;
      await apis[api].check({ method, path, status: reply.status, headers: Object.entries(reply.headers), body });
    }
  }
});

/**
 * No call brings the export function to a 500: every failure of SQS is a 503. So the same code makes the answer here.
 */
test('an unforeseen error gets the 500 that the document describes for export', async () => {
  const { status, headers, body } = problemReply(new Error('unforeseen'), 'r1', directChallenge);
  await apis.proxy.check({ method: 'POST', path: '/export/fega', status, headers: Object.entries(headers), body });
});

test('the tests above met every status of every route except 503, which has its own suite', () => {
  for (const api of Object.values(apis)) {
    const unseen = api.statuses.filter((status) => !api.seen.has(status));
    expect(unseen.filter((status) => !status.endsWith(' 503'))).toEqual([]);
  }
});
