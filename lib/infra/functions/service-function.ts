import { resolve } from 'node:path';
import { type Duration, Stack, Stage } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { type EnvironmentVariable, environment } from '../../contract/environment.ts';
import { trustedIssuersContext } from '../../contract/synth.ts';
import { acknowledge } from '../security/rules.ts';
import { type BundleProps, bundledCode } from './bundling.ts';

export interface ServiceFunctionProps extends BundleProps {
  readonly description: string;
  readonly limits: readonly [memoryMegabytes: number, timeout: Duration];
  /** Days to keep the logs. */
  readonly logRetentionDays: number;
  /** Most invocations at once, reserved from the account's limit. @default - no separate limit */
  readonly reservedConcurrency?: number;
  /** Whether it sends messages that it will receive. Lambda stops other functions that do. @default false */
  readonly mayLoop?: boolean;
  /** Put the trusted issuers beside the bundle, and allow it to read the deny list. @default false */
  readonly verifiesVisas?: boolean;
  /** Put the trusted issuers beside the bundle. @default false */
  readonly namesIssuers?: boolean;
}

/** A permission, as in an IAM policy. */
export interface Permission {
  readonly actions: string[];
  readonly resources: string[];
  readonly conditions?: Record<string, Record<string, unknown>>;
  /** For a resource with a wildcard: the resource as cdk-nag writes it, and why the wildcard is right. */
  readonly wildcard?: { readonly resource: string; readonly reason: string };
}

/**
 * One function with a log group and its own role. The role starts with writing its own log and traces, and nothing
 * else; each grant adds a permission together with the setting that goes with it.
 */
export class ServiceFunction extends Construct {
  readonly function: NodejsFunction;
  readonly timeout: Duration;
  readonly roleArn: string;
  readonly #role: Role;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const [memorySize, timeout] = props.limits;
    this.timeout = timeout;
    const logGroup = new LogGroup(this, 'Logs', { retention: props.logRetentionDays });
    this.#role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: props.description,
    });
    this.roleArn = this.#role.roleArn;
    this.allow({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroup.logGroupArn] });
    acknowledge(this.#role, { 'AwsSolutions-IAM5[Resource::*]': 'X-Ray has no resources to name.' });
    this.function = new NodejsFunction(this, 'Function', {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize,
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...(props.mayLoop && { recursiveLoop: RecursiveLoop.ALLOW }),
      timeout,
      role: this.#role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      systemLogLevelV2: SystemLogLevel.INFO,
      tracing: Tracing.ACTIVE,
      environment: { [environment.stackName]: Stack.of(this).stackName },
      // This setting is for version 2 of the SDK.
      awsSdkConnectionReuse: false,
      code: bundledCode({
        ...props,
        id,
        outdir: resolve(Stage.of(this)?.outdir ?? 'cdk.out'),
        trustedIssuers:
          props.verifiesVisas || props.namesIssuers ? this.node.getContext(trustedIssuersContext) : undefined,
      }),
      handler: 'index.handler',
    });
  }

  allow({ wildcard, ...statement }: Permission): void {
    this.#role.addToPolicy(new PolicyStatement(statement));
    if (wildcard) acknowledge(this.#role, { [`AwsSolutions-IAM5[Resource::${wildcard.resource}]`]: wildcard.reason });
  }

  configure(name: EnvironmentVariable, value: string): void {
    this.function.addEnvironment(name, value);
  }
}
