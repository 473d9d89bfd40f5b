import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  CfnRestApi,
  EndpointAccessMode,
  EndpointType,
  LambdaIntegration,
  type LambdaIntegrationOptions,
  LogGroupLogDestination,
  MethodLoggingLevel,
  RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

export interface ServiceApiProps {
  readonly description: string;
  readonly settings: Settings;
}

/**
 * What a log line says of a request. The path is there, because it names the file; the query string and the headers are
 * not, because they carry visas and passwords.
 */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    time: '$context.requestTimeEpoch',
    method: '$context.httpMethod',
    route: '$context.resourcePath',
    path: '$context.path',
    status: '$context.status',
    responseBytes: '$context.responseLength',
    milliseconds: '$context.responseLatency',
    functionMilliseconds: '$context.integrationLatency',
    gatewayResponse: '$context.error.responseType',
    user: '$context.authorizer.principalId',
    sourceIp: '$context.identity.sourceIp',
  }),
);

/** A Regional REST API: access logs, throttling, TLS 1.2 or newer, problem documents for what API Gateway refuses. */
export class ServiceApi extends Construct {
  readonly api: RestApi;

  constructor(scope: Construct, id: string, props: ServiceApiProps) {
    super(scope, id);
    const { settings } = props;
    const logGroup = new LogGroup(this, 'AccessLog', {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.api = new RestApi(this, 'Api', {
      description: props.description,
      endpointTypes: [EndpointType.REGIONAL],
      cloudWatchRole: false,
      deployOptions: {
        stageName: 'v1',
        accessLogDestination: new LogGroupLogDestination(logGroup),
        accessLogFormat,
        // Execution logs would hold headers and bodies.
        loggingLevel: MethodLoggingLevel.OFF,
        dataTraceEnabled: false,
        metricsEnabled: true,
        tracingEnabled: true,
        throttlingRateLimit: settings.throttling.requestsPerSecond,
        throttlingBurstLimit: settings.throttling.burst,
      },
    });
    const resource = this.api.node.defaultChild;
    if (!(resource instanceof CfnRestApi)) throw new Error('a REST API has a CfnRestApi');
    resource.securityPolicy = SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09;
    resource.endpointAccessMode = EndpointAccessMode.STRICT;
    addGatewayResponses(this.api);

    acknowledge(
      this.api.deploymentStage,
      'Execution logs would hold visas and passwords; the access log says what happened.',
      'AwsSolutions-APIG6',
    );
    acknowledge(
      this.api.deploymentStage,
      'Requests are throttled and credentials are long random passwords and signed tokens; an operator who needs a web application firewall attaches one to the stage.',
      'AwsSolutions-APIG3',
    );
  }

  /** Proxy integration with a function, callable through the deployed stage only. */
  integrate(target: ServiceFunction, options: LambdaIntegrationOptions = {}): LambdaIntegration {
    return new LambdaIntegration(target.function, { allowTestInvoke: false, timeout: target.timeout, ...options });
  }
}
