import { beforeAll, describe, expect, test } from 'vitest';
import { type Resource, show, stackTemplate } from '../helpers/template.ts';

let service: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  service = await stackTemplate('DataOutService');
});

/** Path of a method's resource, from the root of its API. */
function pathOf(method: Resource): string {
  const { ResourceId } = method.Properties;
  const parts: string[] = [];
  for (let id: string | undefined = ResourceId.Ref; id; ) {
    const { PathPart, ParentId } = service.template.Resources[id]!.Properties;
    parts.unshift(PathPart);
    id = ParentId.Ref;
  }
  return `/${parts.join('/')}`;
}

const methodOf = (verb: string, path: string) =>
  service.all('AWS::ApiGateway::Method').find((one) => one.Properties.HttpMethod === verb && pathOf(one) === path)!
    .Properties;

const functionOf = (method: Resource['Properties']) =>
  show(method.Integration.Uri).match(/Functions(\w+)Function/)?.[1];

describe('routes', () => {
  test('are these and no others', () => {
    const routes = service.all('AWS::ApiGateway::Method').map((one) => {
      const { RestApiId, HttpMethod, AuthorizationType } = one.Properties;
      return `${show(RestApiId)} ${HttpMethod} ${pathOf(one)} ${AuthorizationType} ${functionOf(one.Properties)}`;
    });
    expect(routes.sort()).toEqual([
      'DataOutApi GET /files/{fileId} CUSTOM DirectFile',
      'DataOutApi GET /files/{fileId}/content CUSTOM DirectFile',
      'DataOutApi GET /files/{fileId}/header CUSTOM DirectFile',
      'DataOutApi GET /files/{fileId}/{name} CUSTOM DirectFile',
      'DataOutApi GET /ga4gh/drs/v1/objects/{object_id} CUSTOM Drs',
      'DataOutApi GET /ga4gh/drs/v1/objects/{object_id}/access/{access_id} CUSTOM Drs',
      'DataOutApi GET /ga4gh/drs/v1/service-info NONE Drs',
      'DataOutApi GET /htsget/parts/{id}/{part} CUSTOM Htsget',
      'DataOutApi GET /htsget/reads/service-info NONE ServiceInfo',
      'DataOutApi GET /htsget/reads/{id+} CUSTOM Htsget',
      'DataOutApi GET /htsget/variants/service-info NONE ServiceInfo',
      'DataOutApi GET /htsget/variants/{id+} CUSTOM Htsget',
      'DataOutApi GET /metadata/datasets CUSTOM Datasets',
      'DataOutApi GET /metadata/datasets/{datasetId}/files CUSTOM Datasets',
      'DataOutApi GET /openapi.json NONE DataOutOpenApi',
      'DataOutApi GET /service-info NONE ServiceInfo',
      'DataOutApi HEAD /files/{fileId} CUSTOM DirectFile',
      'DataOutApi HEAD /files/{fileId}/content CUSTOM DirectFile',
      'DataOutApi HEAD /files/{fileId}/header CUSTOM DirectFile',
      'DataOutApi HEAD /files/{fileId}/{name} CUSTOM DirectFile',
      'DataOutApi HEAD /ga4gh/drs/v1/objects/{object_id} CUSTOM Drs',
      'DataOutApi HEAD /ga4gh/drs/v1/objects/{object_id}/access/{access_id} CUSTOM Drs',
      'DataOutApi HEAD /ga4gh/drs/v1/service-info NONE Drs',
      'DataOutApi HEAD /htsget/parts/{id}/{part} CUSTOM Htsget',
      'DataOutApi HEAD /htsget/reads/service-info NONE ServiceInfo',
      'DataOutApi HEAD /htsget/variants/service-info NONE ServiceInfo',
      'DataOutApi HEAD /openapi.json NONE DataOutOpenApi',
      'DataOutApi HEAD /service-info NONE ServiceInfo',
      'DataOutApi OPTIONS /ga4gh/drs/v1/objects/{object_id} NONE Drs',
      'DataOutApi OPTIONS /htsget/parts/{id}/{part} NONE ServiceInfo',
      'DataOutApi OPTIONS /htsget/reads/{id+} NONE ServiceInfo',
      'DataOutApi OPTIONS /htsget/variants/{id+} NONE ServiceInfo',
      'DataOutApi POST /ga4gh/drs/v1/objects/{object_id} NONE Drs',
      'DataOutApi POST /ga4gh/drs/v1/objects/{object_id}/access/{access_id} NONE Drs',
      'DataOutApi POST /htsget/reads/{id+} CUSTOM Htsget',
      'DataOutApi POST /htsget/variants/{id+} CUSTOM Htsget',
      'ProxyApi GET /.well-known/data-out NONE About',
      'ProxyApi GET /.well-known/jwks.json NONE Jwks',
      'ProxyApi GET /admin CUSTOM AdminPage',
      'ProxyApi GET /export/fega CUSTOM ExportStatus',
      'ProxyApi GET /export/fega/{requestId} CUSTOM ExportStatus',
      'ProxyApi GET /files CUSTOM Files',
      'ProxyApi GET /openapi.json NONE ProxyOpenApi',
      'ProxyApi GET /stream/{file} CUSTOM Stream',
      'ProxyApi HEAD /.well-known/data-out NONE About',
      'ProxyApi HEAD /.well-known/jwks.json NONE Jwks',
      'ProxyApi HEAD /openapi.json NONE ProxyOpenApi',
      'ProxyApi HEAD /stream/{file} CUSTOM Stream',
      'ProxyApi POST /export/fega CUSTOM Export',
    ]);
  });

  test.each([
    ['POST', '/export/fega'],
    ['GET', '/export/fega'],
    ['GET', '/export/fega/{requestId}'],
    ['GET', '/admin'],
  ])('%s %s is behind the administrators’ authorizer, which is asked every time', (verb, path) => {
    const { AuthorizerId } = methodOf(verb, path);
    const authorizer = service.template.Resources[AuthorizerId.Ref]!.Properties;
    expect(authorizer).toMatchObject({
      Type: 'REQUEST',
      IdentitySource: 'method.request.header.Authorization',
      AuthorizerResultTtlInSeconds: 0,
    });
    expect(show(authorizer.AuthorizerUri)).toContain('FunctionsAuthorizeAdminFunction');
  });

  test('list and stream are behind their own authorizer, which is asked every time, whatever headers come', () => {
    const ids = [methodOf('GET', '/files'), methodOf('GET', '/stream/{file}'), methodOf('HEAD', '/stream/{file}')].map(
      ({ AuthorizerId }) => AuthorizerId.Ref,
    );
    expect(new Set(ids).size).toBe(1);
    const authorizer = service.template.Resources[ids[0]]!.Properties;
    expect(authorizer).toMatchObject({ Type: 'REQUEST', AuthorizerResultTtlInSeconds: 0 });
    // API Gateway itself would answer 401 when an identity source is missing.
    expect(authorizer.IdentitySource ?? '').toBe('');
    expect(show(authorizer.AuthorizerUri)).toContain('FunctionsAuthorizeOutboxFunction');
  });

  test('direct access is behind the authorizer of visas, which is asked every time', () => {
    const behind = service
      .all('AWS::ApiGateway::Method')
      .map(({ Properties }) => Properties)
      .filter(({ RestApiId, AuthorizationType }) => show(RestApiId) === 'DataOutApi' && AuthorizationType === 'CUSTOM');
    const [id, ...others] = new Set(behind.map(({ AuthorizerId }) => AuthorizerId.Ref));
    expect(others).toEqual([]);
    const authorizer = service.template.Resources[id]!.Properties;
    expect(authorizer).toMatchObject({
      Type: 'REQUEST',
      IdentitySource: 'method.request.header.Authorization',
      AuthorizerResultTtlInSeconds: 0,
    });
    expect(show(authorizer.AuthorizerUri)).toContain('FunctionsAuthorizeVisaFunction');
  });

  test.each([
    ['GET', '/metadata/datasets'],
    ['GET', '/metadata/datasets/{datasetId}/files'],
    ['GET', '/files/{fileId}'],
    ['HEAD', '/files/{fileId}'],
    ['GET', '/files/{fileId}/{name}'],
    ['GET', '/files/{fileId}/header'],
    ['GET', '/files/{fileId}/content'],
  ])('%s %s streams for as long as its function may run', (verb, path) => {
    const { Integration } = methodOf(verb, path);
    expect(Integration.ResponseTransferMode).toBe('STREAM');
    expect(show(Integration.Uri)).toMatch(/2021-11-15\/functions\/.*\/response-streaming-invocations$/);
    expect(Integration.TimeoutInMillis).toBe(300_000);
  });

  test.each(['GET', 'HEAD'])('%s /stream streams, so that API Gateway makes up no length', (verb) => {
    expect(methodOf(verb, '/stream/{file}').Integration.ResponseTransferMode).toBe('STREAM');
  });

  test('the listing streams, and needs to hear about the inbox', () => {
    const method = methodOf('GET', '/files');
    expect(method.Integration.ResponseTransferMode).toBe('STREAM');
    expect(show(method.Integration.Uri)).toMatch(/2021-11-15\/functions\/.*\/response-streaming-invocations$/);
    expect(method.RequestParameters).toEqual({ 'method.request.querystring.inbox': true });
    expect(service.template.Resources[method.RequestValidatorId.Ref]!.Properties).toMatchObject({
      ValidateRequestParameters: true,
    });
  });

  test.each([
    ['POST', '/export/fega'],
    ['GET', '/export/fega'],
    ['GET', '/export/fega/{requestId}'],
    ['GET', '/admin'],
    ['GET', '/service-info'],
    ['GET', '/ga4gh/drs/v1/objects/{object_id}'],
  ])('%s %s is a buffered proxy integration', (verb, path) => {
    const { Integration } = methodOf(verb, path);
    expect(Integration.Type).toBe('AWS_PROXY');
    expect(['BUFFERED', undefined]).toContain(Integration.ResponseTransferMode);
    expect(Integration.TimeoutInMillis).toBeLessThanOrEqual(29_000);
  });
});

describe.each(['ProxyApi', 'DataOutApi'])('%s', (name) => {
  const responses = () =>
    service
      .all('AWS::ApiGateway::GatewayResponse')
      .map(({ Properties }) => Properties)
      .filter(({ RestApiId }) => show(RestApiId) === name);
  const body = (properties: Resource['Properties']) => JSON.parse(properties.ResponseTemplates['application/json']);

  test('is Regional and takes TLS 1.2 or newer', () => {
    const [api] = service
      .all('AWS::ApiGateway::RestApi')
      .filter(({ Metadata }) => Metadata?.['aws:cdk:path']?.includes(`/${name.replace(/Api$/, '')}/`));
    expect(api?.Properties).toMatchObject({
      EndpointConfiguration: { Types: ['REGIONAL'] },
      SecurityPolicy: 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09',
      EndpointAccessMode: 'STRICT',
    });
    expect(api?.Properties.Name).toBe(`DataOutService-${name.replace(/Api$/, '')}`);
    expect(api?.Properties.MinimumCompressionSize).toBeUndefined();
    expect(api?.Properties.BinaryMediaTypes).toBeUndefined();
  });

  test('throttles, and logs neither bodies, headers, query strings nor paths, nor anything that a caller words', () => {
    const stage = service.all('AWS::ApiGateway::Stage').find(({ Properties }) => show(Properties.RestApiId) === name)!;
    const common = { LoggingLevel: 'OFF', DataTraceEnabled: false, MetricsEnabled: true };
    const all = { HttpMethod: '*', ResourcePath: '/*', ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 };
    // Each attempt costs a password hash.
    const exporting = [
      { HttpMethod: 'POST', ResourcePath: '/~1export~1fega' },
      { HttpMethod: 'GET', ResourcePath: '/~1export~1fega' },
      { HttpMethod: 'GET', ResourcePath: '/~1export~1fega~1{requestId}' },
      { HttpMethod: 'GET', ResourcePath: '/~1admin' },
    ].map((method) => ({ ...method, ThrottlingRateLimit: 5, ThrottlingBurstLimit: 10 }));
    expect(stage.Properties.MethodSettings).toEqual(
      [all, ...(name === 'ProxyApi' ? exporting : [])].map((limits) => ({ ...common, ...limits })),
    );
    const format = JSON.parse(stage.Properties.AccessLogSetting.Format);
    expect(Object.values(format).sort()).toEqual([
      '$context.authorizer.principalId',
      '$context.error.responseType',
      '$context.extendedRequestId',
      '$context.httpMethod',
      '$context.identity.sourceIp',
      '$context.integration.responseTransferMode',
      '$context.integration.timeToAllHeaders',
      '$context.integration.timeToFirstContent',
      '$context.integrationLatency',
      '$context.requestId',
      '$context.requestTimeEpoch',
      '$context.resourcePath',
      '$context.responseLatency',
      '$context.responseLength',
      '$context.status',
    ]);
  });

  test('answers what it refuses itself with a status and a code', () => {
    const table = responses().map((one) => [one.ResponseType, one.StatusCode, body(one).code]);
    expect(Object.fromEntries(table.map(([type, ...rest]) => [type, rest.join(' ')]))).toEqual({
      UNAUTHORIZED: '401 unauthenticated',
      ACCESS_DENIED: '401 unauthenticated',
      MISSING_AUTHENTICATION_TOKEN: '404 not_found',
      RESOURCE_NOT_FOUND: '404 not_found',
      BAD_REQUEST_PARAMETERS: '400 invalid_request',
      BAD_REQUEST_BODY: '400 invalid_request',
      REQUEST_TOO_LARGE: '413 request_too_large',
      THROTTLED: '429 throttled',
      INTEGRATION_FAILURE: '502 internal_error',
      INTEGRATION_TIMEOUT: '504 temporarily_unavailable',
      AUTHORIZER_FAILURE: '503 temporarily_unavailable',
      AUTHORIZER_CONFIGURATION_ERROR: '503 temporarily_unavailable',
      // No separate status: it would replace the status of every 4xx and 5xx.
      DEFAULT_4XX: ' invalid_request',
      DEFAULT_5XX: ' internal_error',
    });
  });

  test('words every refusal as a problem document with the request id', () => {
    for (const one of responses()) {
      const document = body(one);
      expect(document).toMatchObject({
        type: 'about:blank',
        title: expect.any(String),
        detail: expect.any(String),
        requestId: '$context.requestId',
      });
      expect(document.status === undefined ? undefined : String(document.status)).toBe(one.StatusCode);
      expect(one.ResponseParameters).toMatchObject({
        'gatewayresponse.header.Content-Type': "'application/problem+json'",
        'gatewayresponse.header.Cache-Control': "'no-store'",
        'gatewayresponse.header.X-Content-Type-Options': "'nosniff'",
        'gatewayresponse.header.X-Frame-Options': "'DENY'",
        'gatewayresponse.header.Cross-Origin-Resource-Policy': "'same-origin'",
      });
      // API Gateway is documented to take literals and parameters of the request. One it refuses fails the deployment.
      for (const value of Object.values(one.ResponseParameters)) expect(value).toMatch(/^'[^']*'$/);
    }
  });

  test('says why an authorizer refused, and what to send when nothing came', () => {
    const detail = (type: string) => body(responses().find((one) => one.ResponseType === type)!).detail;
    expect(detail('ACCESS_DENIED')).toBe('$context.authorizer.detail');
    expect(detail('UNAUTHORIZED')).toMatch(name === 'ProxyApi' ? /Basic.*visa.*X-GA4GH-Visa/ : /visa.*Bearer/);
  });

  test('asks for the credentials that it takes, and says when to come back', () => {
    const challenge = name === 'ProxyApi' ? `'Basic realm="data-out", charset="UTF-8"'` : `'Bearer realm="data-out"'`;
    const header = (type: string, header: string) =>
      responses().find((one) => one.ResponseType === type)?.ResponseParameters[`gatewayresponse.header.${header}`];
    for (const type of ['UNAUTHORIZED', 'ACCESS_DENIED']) expect(header(type, 'WWW-Authenticate')).toBe(challenge);
    for (const type of ['THROTTLED', 'INTEGRATION_TIMEOUT', 'AUTHORIZER_FAILURE']) {
      expect(header(type, 'Retry-After')).toMatch(/^'\d+'$/);
    }
  });
});

test('the account has a role for access logs before a stage is made', () => {
  const account = Object.entries(service.template.Resources).find(([, one]) => one.Type === 'AWS::ApiGateway::Account');
  for (const stage of service.all('AWS::ApiGateway::Stage')) expect(stage.DependsOn).toContain(account?.[0]);
  expect(account?.[1].DeletionPolicy).toBe('Retain');
});

test('the base URLs and queues are in the outputs', () => {
  const { Outputs } = service.template;
  expect(show(Outputs.ProxyUrl?.Value)).toContain('ProxyApi');
  expect(show(Outputs.DataOutUrl?.Value)).toContain('DataOutApi');
  expect(show(Outputs.ExportRequestsQueueUrl?.Value)).toBe('ExportRequestsQueue');
  expect(show(Outputs.FileExportsQueueUrl?.Value)).toBe('FileExportsQueue');
  expect(show(Outputs.SmallFileExportsQueueUrl?.Value)).toBe('SmallFileExportsQueue');
});
