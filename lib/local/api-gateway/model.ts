import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { shortName } from '../template/names.ts';
import { optionalNumber, optionalText, type Resource, record, text, whereOf } from '../template/template.ts';

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
  readonly methods: readonly Method[];
  readonly gatewayResponses: ReadonlyMap<string, GatewayResponse>;
}

export interface Method {
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
}

/** It is asked about each request. */
export interface Authorizer {
  readonly functionArn: string;
  /** `header.Authorization`, `querystring.x`, … */
  readonly identitySources: readonly string[];
}

export interface GatewayResponse {
  readonly status: number | undefined;
  /** Literals, without their quotes. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of a reply in JSON. */
  readonly template: string;
}

const defaultTimeoutMs = 29_000;

/**
 * The REST APIs of the template.
 *
 * @throws UnsupportedTemplateError for a part that would behave differently when deployed
 */
export function readApis(deployment: Deployment): readonly RestApi[] {
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
      methods: ofApi('Method').map((method) => readMethod(method, api, ofApi)),
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

type OfApi = (type: string) => readonly Resource[];

function readMethod(method: Resource, api: Resource, ofApi: OfApi): Method {
  const where = whereOf(method);
  const integration = record(method.property('Integration'));
  if (integration.Type !== 'AWS_PROXY') {
    throw new UnsupportedTemplateError(where, `integration ${String(integration.Type)} cannot be run locally`);
  }
  const segments = pathOf(text(method, 'ResourceId'), api, ofApi, where);
  return {
    httpMethod: text(method, 'HttpMethod'),
    segments,
    resourcePath: `/${segments.join('/')}`,
    resourceId: text(method, 'ResourceId'),
    functionArn: functionOf(String(integration.Uri), where),
    streamed: integration.ResponseTransferMode === 'STREAM',
    timeoutMs: Number(integration.TimeoutInMillis ?? defaultTimeoutMs),
    authorizer: readAuthorizer(method, ofApi, where),
    requiredParameters: readRequiredParameters(method, ofApi),
  };
}

function pathOf(resourceId: string, api: Resource, ofApi: OfApi, where: string): readonly string[] {
  if (resourceId === api.attribute('RootResourceId')) return [];
  const resource = ofApi('Resource').find(({ id }) => id === resourceId);
  if (!resource) throw new UnsupportedTemplateError(where, 'the resource of the method is missing');
  return [...pathOf(text(resource, 'ParentId'), api, ofApi, where), text(resource, 'PathPart')];
}

function functionOf(uri: string, where: string): string {
  const [, arn] = /\/functions\/(arn:.+)\/(?:response-streaming-)?invocations$/.exec(uri) ?? [];
  if (!arn) throw new UnsupportedTemplateError(where, `the integration's URI is not one of a function: ${uri}`);
  return arn;
}

function readAuthorizer(method: Resource, ofApi: OfApi, where: string): Authorizer | undefined {
  const kind = text(method, 'AuthorizationType');
  if (kind === 'NONE') return undefined;
  const resource = ofApi('Authorizer').find(({ id }) => id === method.property('AuthorizerId'));
  if (kind !== 'CUSTOM' || !resource || text(resource, 'Type') !== 'REQUEST') {
    throw new UnsupportedTemplateError(where, `authorization ${kind} cannot be run locally`);
  }
  if (optionalNumber(resource, 'AuthorizerResultTtlInSeconds') !== 0) {
    throw new UnsupportedTemplateError(where, 'an authorizer must be asked about each request');
  }
  return {
    functionArn: functionOf(text(resource, 'AuthorizerUri'), where),
    identitySources: (optionalText(resource, 'IdentitySource') ?? '')
      .split(',')
      .map((source) => source.trim().replace(/^method\.request\./, ''))
      .filter((source) => source !== ''),
  };
}

function readRequiredParameters(method: Resource, ofApi: OfApi): readonly string[] {
  const validator = ofApi('RequestValidator').find(({ id }) => id === method.property('RequestValidatorId'));
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
    template: String(record(resource.property('ResponseTemplates'))['application/json']),
  };
}
