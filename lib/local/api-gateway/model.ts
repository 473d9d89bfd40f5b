import { UnsupportedTemplateError } from '../errors.ts';
import { mayInvoke } from '../lambda/permissions.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId, shortName } from '../template/names.ts';
import { list, optionalNumber, optionalText, type Resource, record, text, whereOf } from '../template/template.ts';

/** A REST API as the template describes it. */
export interface RestApi {
  readonly id: string;
  /** Short name from the construct's path, for example `proxy`. */
  readonly name: string;
  /** Also the first path segment of every URL. */
  readonly stageName: string;
  readonly region: string;
  /** Host names of the operator's own, at whose root the API begins: without the name of the stage. */
  readonly ownHosts: readonly string[];
  /** Format of the stage's access log. */
  readonly accessLogFormat: string | undefined;
  readonly binaryMediaTypes: readonly string[];
  readonly methods: readonly Method[];
  readonly gatewayResponses: ReadonlyMap<string, GatewayResponse>;
}

export interface Method {
  /** `GET`, …, or `ANY`. */
  readonly httpMethod: string;
  /** Segments of the path; `{name}` is a parameter, `{name+}` takes the rest. */
  readonly segments: readonly string[];
  /** `/stream/{file}`. */
  readonly resourcePath: string;
  readonly resourceId: string;
  readonly functionArn: string;
  readonly streamed: boolean;
  readonly timeoutMs: number;
  readonly authorizer: Authorizer | undefined;
  /** Parameters that a validator demands: `querystring.inbox`, `header.X`. */
  readonly requiredParameters: readonly string[];
  /** Absent: no limit but the account's. */
  readonly throttling: ThrottleLimits | undefined;
}

export interface ThrottleLimits {
  readonly requestsPerSecond: number;
  /** Requests at once. */
  readonly burst: number;
}

export interface Authorizer {
  readonly id: string;
  readonly functionArn: string;
  /** `header.Authorization`, `querystring.x`, … */
  readonly identitySources: readonly string[];
  /** 0: the result is not kept. */
  readonly ttlSeconds: number;
}

export interface GatewayResponse {
  readonly status: number | undefined;
  /** Literals, without their quotes. */
  readonly headers: Readonly<Record<string, string>>;
  /** By media type. */
  readonly templates: Readonly<Record<string, string>>;
}

const defaultTimeoutMs = 29_000;

/**
 * The REST APIs of the template.
 *
 * @param permitting holds the permissions of functions. During an update it is the new template: the CDK makes a permission
 * after the stage that needs it
 * @throws UnsupportedTemplateError for a part that would behave differently when deployed
 */
export function readApis(deployment: Deployment, permitting: Deployment = deployment): readonly RestApi[] {
  return deployment.resources('AWS::ApiGateway::RestApi').map((api) => {
    const ofApi = (type: string) =>
      deployment.resources(`AWS::ApiGateway::${type}`).filter((resource) => resource.property('RestApiId') === api.id);
    const stages = ofApi('Stage');
    const [stage] = stages;
    if (!stage || stages.length > 1) throw new UnsupportedTemplateError(whereOf(api), 'an API must have one stage');
    const stageName = text(stage, 'StageName');
    return {
      id: api.id,
      name: shortName(api.path),
      stageName,
      region: deployment.region,
      ownHosts: ofApi('BasePathMapping').map((mapping) => ownHost(mapping, stageName)),
      accessLogFormat: record(stage.property('AccessLogSetting')).Format?.toString(),
      binaryMediaTypes: list(api.property('BinaryMediaTypes')).map(String),
      methods: ofApi('Method').map((method) => readMethod(method, api, stage, ofApi, permitting)),
      gatewayResponses: new Map(
        ofApi('GatewayResponse').map((resource) => [text(resource, 'ResponseType'), readGatewayResponse(resource)]),
      ),
    };
  });
}

function ownHost(mapping: Resource, stageName: string): string {
  if (optionalText(mapping, 'BasePath') || text(mapping, 'Stage') !== stageName) {
    throw new UnsupportedTemplateError(
      whereOf(mapping),
      'a mapping to another place than the root cannot be run locally',
    );
  }
  return text(mapping, 'DomainName');
}

/** ARN of an API's one stage. */
export function stageArn({ id, stageName, region }: RestApi): string {
  return `arn:aws:apigateway:${region}::/restapis/${id}/stages/${stageName}`;
}

type OfApi = (type: string) => readonly Resource[];

function readMethod(method: Resource, api: Resource, stage: Resource, ofApi: OfApi, deployment: Deployment): Method {
  const stageName = text(stage, 'StageName');
  const where = whereOf(method);
  const integration = record(method.property('Integration'));
  if (integration.Type !== 'AWS_PROXY') {
    throw new UnsupportedTemplateError(where, `integration ${String(integration.Type)} cannot be run locally`);
  }
  const segments = pathOf(text(method, 'ResourceId'), api, ofApi, where);
  const { functionArn, streaming } = readUri(String(integration.Uri), where);
  const streamed = integration.ResponseTransferMode === 'STREAM';
  if (streamed !== streaming) {
    throw new UnsupportedTemplateError(where, 'ResponseTransferMode and the URI of the integration do not agree');
  }
  const httpMethod = text(method, 'HttpMethod');
  const authorizer = readAuthorizer(method, ofApi, where);
  const star = segments.map((segment) => (segment.startsWith('{') ? '*' : segment)).join('/');
  const arn = `arn:aws:execute-api:${deployment.region}:${accountId}:${api.id}`;
  checkPermission(
    functionArn,
    `${arn}/${stageName}/${httpMethod === 'ANY' ? '*' : httpMethod}/${star}`,
    where,
    deployment,
  );
  if (authorizer) checkPermission(authorizer.functionArn, `${arn}/authorizers/${authorizer.id}`, where, deployment);
  return {
    httpMethod,
    segments,
    resourcePath: `/${segments.join('/')}`,
    resourceId: text(method, 'ResourceId'),
    functionArn,
    streamed,
    timeoutMs: Number(integration.TimeoutInMillis ?? defaultTimeoutMs),
    authorizer,
    requiredParameters: readRequiredParameters(method, ofApi, where),
    throttling: readThrottling(stage, `/${segments.join('/')}`, httpMethod),
  };
}

/** The setting of the method itself, or that of all methods. */
function readThrottling(stage: Resource, resourcePath: string, httpMethod: string): ThrottleLimits | undefined {
  const settings = list(stage.property('MethodSettings')).map(record);
  const own = `/${resourcePath.replaceAll('/', '~1')}`;
  const setting =
    settings.find(({ ResourcePath: path, HttpMethod: method }) => path === own && method === httpMethod) ??
    settings.find(({ ResourcePath: path, HttpMethod: method }) => path === '/*' && method === '*');
  const { ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst } = setting ?? {};
  if (rate === undefined || burst === undefined) return undefined;
  return { requestsPerSecond: Number(rate), burst: Number(burst) };
}

function pathOf(resourceId: string, api: Resource, ofApi: OfApi, where: string): readonly string[] {
  if (resourceId === api.attribute('RootResourceId')) return [];
  const resource = ofApi('Resource').find(({ id }) => id === resourceId);
  if (!resource) throw new UnsupportedTemplateError(where, 'the resource of the method is missing');
  return [...pathOf(text(resource, 'ParentId'), api, ofApi, where), text(resource, 'PathPart')];
}

function readUri(uri: string, where: string): { functionArn: string; streaming: boolean } {
  const match =
    /:lambda:path\/(2015-03-31|2021-11-15)\/functions\/(arn:.+)\/(invocations|response-streaming-invocations)$/.exec(
      uri,
    );
  const [, version, functionArn, action] = match ?? [];
  const streaming = action === 'response-streaming-invocations';
  if (!functionArn || (version === '2021-11-15') !== streaming) {
    throw new UnsupportedTemplateError(where, `the integration's URI is not one of a function: ${uri}`);
  }
  return { functionArn, streaming };
}

function readAuthorizer(method: Resource, ofApi: OfApi, where: string): Authorizer | undefined {
  const kind = text(method, 'AuthorizationType');
  if (kind === 'NONE') return undefined;
  const resource = ofApi('Authorizer').find(({ id }) => id === method.property('AuthorizerId'));
  if (kind !== 'CUSTOM' || !resource || text(resource, 'Type') !== 'REQUEST') {
    throw new UnsupportedTemplateError(where, `authorization ${kind} cannot be run locally`);
  }
  return {
    id: resource.id,
    functionArn: readUri(text(resource, 'AuthorizerUri'), where).functionArn,
    identitySources: (optionalText(resource, 'IdentitySource') ?? '')
      .split(',')
      .map((source) => source.trim().replace(/^method\.request\./, ''))
      .filter((source) => source !== ''),
    ttlSeconds: optionalNumber(resource, 'AuthorizerResultTtlInSeconds') ?? 300,
  };
}

function readRequiredParameters(method: Resource, ofApi: OfApi, where: string): readonly string[] {
  const validator = ofApi('RequestValidator').find(({ id }) => id === method.property('RequestValidatorId'));
  if (validator?.property('ValidateRequestBody') === true && method.property('RequestModels') !== undefined) {
    throw new UnsupportedTemplateError(where, 'validation of request bodies cannot be run locally');
  }
  if (validator?.property('ValidateRequestParameters') !== true) return [];
  return Object.entries(record(method.property('RequestParameters')))
    .filter(([, required]) => required === true)
    .map(([name]) => name.replace(/^method\.request\./, ''));
}

function readGatewayResponse(resource: Resource): GatewayResponse {
  const headers = Object.entries(record(resource.property('ResponseParameters'))).map(([name, value]) => {
    const header = /^gatewayresponse\.header\.(.+)$/.exec(name)?.[1];
    // A value is a literal in quotes, or `method.request.…`, which no template of this service uses.
    const literal = /^'([^']*)'$/.exec(String(value))?.[1];
    if (header === undefined || literal === undefined) {
      throw new UnsupportedTemplateError(whereOf(resource), `${name} cannot be set to ${String(value)}`);
    }
    return [header, literal];
  });
  return {
    status: optionalNumber(resource, 'StatusCode'),
    headers: Object.fromEntries(headers) as Record<string, string>,
    templates: record(resource.property('ResponseTemplates')) as Record<string, string>,
  };
}

/** Without a permission of the function, API Gateway answers 500. */
function checkPermission(functionArn: string, source: string, where: string, deployment: Deployment): void {
  if (mayInvoke(deployment, { service: 'apigateway.amazonaws.com', functionArn, source })) return;
  throw new UnsupportedTemplateError(where, `API Gateway may not invoke ${functionArn} for ${source}`);
}
