import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  AuthorizationType,
  BasePathMapping,
  type CfnMethod,
  CfnRestApi,
  DomainName,
  EndpointAccessMode,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  type Method,
  MethodLoggingLevel,
  type MethodOptions,
  RequestAuthorizer,
  ResponseTransferMode,
  RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, LogGroup, type MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { metricNamespace } from '../../contract/metrics.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { acknowledge } from '../security/rules.ts';
import type { Domain, Settings, Throttling } from '../settings.ts';
import { addGatewayResponses, type Challenge } from './gateway-responses.ts';

export interface ServiceApiProps {
  readonly description: string;
  readonly settings: Settings;
  /** @default - the API has the name that API Gateway gives */
  readonly domain: Domain | undefined;
  /** What the authorizers of this API ask for. */
  readonly challenge: Challenge;
  /** Separate limits of methods, by path and verb: `/export/fega/POST`. @default - `settings.throttling` for each */
  readonly methodThrottling?: Readonly<Record<string, Throttling>>;
}

interface RouteOptions extends Pick<MethodOptions, 'requestParameters' | 'requestValidator'> {
  /** @default - anyone can call it */
  readonly authorizer?: RequestAuthorizer;
  /** Why no credentials are needed, or why the authorizer is one of Lambda. */
  readonly reason: string;
  /** @default false */
  readonly streamed?: boolean;
}

/**
 * The fields of a log line. API Gateway fills in values without escaping them, so no field takes text from the caller:
 * a quotation mark in a path would end the text and begin fields of the caller's own. Which file was asked for is in
 * the functions' log lines. A caller may choose `requestId`, but only as a UUID; `extendedRequestId` is API Gateway's
 * own.
 */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    // AWS support asks for it.
    extendedRequestId: '$context.extendedRequestId',
    time: '$context.requestTimeEpoch',
    method: '$context.httpMethod',
    route: '$context.resourcePath',
    status: '$context.status',
    responseBytes: '$context.responseLength',
    milliseconds: '$context.responseLatency',
    functionMilliseconds: '$context.integrationLatency',
    // `STREAMED` or `BUFFERED`. Of a streamed reply also when its headers were complete and when its body began.
    transfer: '$context.integration.responseTransferMode',
    headersMilliseconds: '$context.integration.timeToAllHeaders',
    firstByteMilliseconds: '$context.integration.timeToFirstContent',
    gatewayResponse: '$context.error.responseType',
    user: '$context.authorizer.principalId',
    sourceIp: '$context.identity.sourceIp',
  }),
);

/** A Regional REST API: access logs, throttling, TLS 1.2 or newer, problem documents for what API Gateway refuses. */
export class ServiceApi extends Construct {
  readonly api: RestApi;
  /** Base URL for callers, with a slash at its end. */
  readonly url: string;
  readonly #accessLog: LogGroup;
  readonly #counts = new Map<string, MetricFilter>();

  constructor(scope: Construct, id: string, props: ServiceApiProps) {
    super(scope, id);
    const { settings, domain, methodThrottling = {} } = props;
    // Every method gets all options: a method that has options loses the common ones.
    const methodOptions = ({ requestsPerSecond, burst }: Throttling) => ({
      // Execution logs would hold headers and bodies.
      loggingLevel: MethodLoggingLevel.OFF,
      dataTraceEnabled: false,
      metricsEnabled: true,
      throttlingRateLimit: requestsPerSecond,
      throttlingBurstLimit: burst,
    });
    this.#accessLog = new LogGroup(this, 'AccessLog', { retention: settings.logRetentionDays });
    this.api = new RestApi(this, 'Api', {
      // The metrics of an API are found by its name.
      restApiName: `${Stack.of(this).stackName}-${id}`,
      description: props.description,
      endpointTypes: [EndpointType.REGIONAL],
      cloudWatchRole: false,
      ...(domain && { disableExecuteApiEndpoint: true }),
      deployOptions: {
        stageName: 'v1',
        accessLogDestination: new LogGroupLogDestination(this.#accessLog),
        accessLogFormat,
        tracingEnabled: true,
        ...methodOptions(settings.throttling),
        methodOptions: Object.fromEntries(
          Object.entries(methodThrottling).map(([method, limits]) => [method, methodOptions(limits)]),
        ),
      },
    });
    const resource = this.api.node.defaultChild;
    if (!(resource instanceof CfnRestApi)) throw new Error('a REST API has a CfnRestApi');
    resource.securityPolicy = SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09;
    resource.endpointAccessMode = EndpointAccessMode.STRICT;
    if (domain) this.#addDomain(domain, `${id}DomainTarget`);
    this.url = domain ? `https://${domain.name}/` : this.api.url;
    addGatewayResponses(this.api, props.challenge);

    acknowledge(this.api, {
      'AwsSolutions-APIG2':
        'Parameters and bodies are checked by the functions, which name every violation; a schema here would stop at the first.',
    });
    acknowledge(this.api.deploymentStage, {
      apiExecutionLog: 'Execution logs would hold visas and passwords; the access log says what happened.',
      'HIPAA.Security-APIGWCacheEnabledAndEncrypted':
        'Each reply depends on the caller, whose rights are looked up each time: no reply may be cached.',
      'HIPAA.Security-APIGWSSLEnabled':
        'All integrations are Lambda functions, called by signed requests over TLS. A client certificate is for HTTP servers.',
      'AwsSolutions-APIG3':
        'The APIs have throttling for all callers together. They take signed tokens, and passwords that a person may choose, of ten characters or more. An operator can attach a web ACL with limits for each address.',
    });
  }

  /**
   * A host name of the operator's own, with the TLS policy of the API. The API begins at the root of the host: there, clients look for
   * DRS objects (GA4GH DRS 1.5.0, hostname-based URIs).
   *
   * @param output of the stack, with the name that the operator's DNS record must point to
   */
  #addDomain({ name, certificateArn }: Domain, output: string): void {
    const domain = new Construct(this, 'Domain');
    const domainName = new DomainName(domain, 'Name', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(domain, 'Certificate', certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
      endpointAccessMode: EndpointAccessMode.STRICT,
    });
    new BasePathMapping(domain, 'Mapping', { domainName, restApi: this.api, stage: this.api.deploymentStage });
    new CfnOutput(Stack.of(this), output, { value: domainName.domainNameAliasDomainName });
  }

  /**
   * Counts lines of the access log, because API Gateway's own metrics tell no status from another. `pattern` is one of
   * CloudWatch Logs for JSON; the access log has every value as text.
   */
  countReplies(name: 'ClientErrors' | 'Throttled', pattern: string): MetricFilter {
    const filter = this.#accessLog.addMetricFilter(name, {
      filterPattern: FilterPattern.literal(pattern),
      metricNamespace,
      // A filter takes dimensions from the line alone, so the name distinguishes deployments and their APIs.
      metricName: `${this.api.restApiName}-${name}`,
    });
    this.#counts.set(name, filter);
    return filter;
  }

  /** What {@link countReplies} counts. */
  counted(period: Duration): Metric[] {
    return [...this.#counts].map(([label, filter]) => filter.metric({ statistic: 'Sum', period, label }));
  }

  /**
   * The methods whose reply is ready at once. Streamed replies are left out, because their time depends on their size; `/stream`
   * sends no bytes of a file, so it stays in. `OPTIONS` and `HEAD` say nothing more of how long callers wait, and an alarm can watch ten methods.
   */
  get promptMethods(): readonly Method[] {
    return this.api.methods.filter(({ node, httpMethod, resource }) => {
      if (httpMethod === 'OPTIONS' || httpMethod === 'HEAD') return false;
      if (resource.path.startsWith('/stream/')) return true;
      const { integration } = node.defaultChild as CfnMethod;
      return Stack.of(this).resolve(integration)?.responseTransferMode !== ResponseTransferMode.STREAM;
    });
  }

  /** An authorizer that is asked about each request, so that who lost a right is refused immediately. */
  authorizer(id: string, target: ServiceFunction, identitySources: string[]): RequestAuthorizer {
    const handler = target.function;
    return new RequestAuthorizer(this, id, { handler, identitySources, resultsCacheTtl: Duration.seconds(0) });
  }

  /** Methods of one path, callable through the deployed stage only. @param verbs separated by spaces */
  addRoute(
    verbs: string,
    path: string,
    target: ServiceFunction,
    { authorizer, reason, streamed, ...options }: RouteOptions,
  ): void {
    const integration = new LambdaIntegration(target.function, {
      allowTestInvoke: false,
      timeout: target.timeout,
      ...(streamed && { responseTransferMode: ResponseTransferMode.STREAM }),
    });
    const { NONE, CUSTOM } = AuthorizationType;
    const access = authorizer ? { authorizer, authorizationType: CUSTOM, ...options } : { authorizationType: NONE };
    for (const verb of verbs.split(' ')) {
      const method = this.api.root.resourceForPath(path).addMethod(verb, integration, access);
      acknowledge(method, {
        ...(!authorizer && { 'AwsSolutions-APIG4': reason }),
        ...(verb !== 'OPTIONS' && { 'AwsSolutions-COG4': reason }),
      });
    }
  }

  /** The route of the OpenAPI document. */
  addOpenApi(target: ServiceFunction): void {
    this.addRoute('GET HEAD', '/openapi.json', target, { reason: 'The reply is documentation and holds no data.' });
  }
}
