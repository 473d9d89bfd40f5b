import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { trustedIssuersFile } from '../../contract/environment.ts';
import { sourceMapsDir } from '../../contract/synth.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { AccessControl } from '../iam/access.ts';
import type { Credentials, Principal } from '../iam/credentials.ts';
import { statementsOfRole } from '../iam/roles.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId, shortName } from '../template/names.ts';
import { optionalNumber, type Resource, record, text, whereOf } from '../template/template.ts';
import { platformPermissions } from './permissions.ts';
import { workerVariables } from './worker-protocol.ts';

/** One function of the template, ready to run. */
export interface FunctionDefinition {
  /** Short name from the construct's path, for example `stage-file`. */
  readonly name: string;
  readonly arn: string;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly principal: Principal;
}

export interface DefinitionContext {
  readonly deployment: Deployment;
  readonly credentials: Credentials;
  readonly access: AccessControl;
  /** Folder in which every function gets its own task root. */
  readonly tasksDir: string;
  /** URL of the AWS endpoint. */
  readonly endpoint: string;
  /** The trusted issuers' file for this machine, given the one in the bundle. */
  readonly trustedIssuers: (bundled: string) => string;
  /** Added to the template's variables. They win over variables of the same name. */
  readonly extraEnvironment: Readonly<Record<string, string>>;
}

/** Runtimes whose bundles this engine's own Node.js runs. */
const runtimes = new Set(['nodejs22.x', 'nodejs24.x']);

/** The functions of the template, except those that only serve CloudFormation's custom resources. */
export function functionsOf(deployment: Deployment): readonly Resource[] {
  const providers = new Set(deployment.resources('Custom::Trigger').map((trigger) => trigger.property('ServiceToken')));
  return deployment
    .resources('AWS::Lambda::Function')
    .filter(
      (resource) => !providers.has(resource.attribute('Arn')) && !resource.path.includes('CustomResourceProvider'),
    );
}

/** Define the functions of the template. */
export function defineFunctions(context: DefinitionContext): readonly FunctionDefinition[] {
  rmSync(context.tasksDir, { recursive: true, force: true });
  const definitions = functionsOf(context.deployment).map((resource) => defineFunction(resource, context));
  const names = definitions.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice) throw new UnsupportedTemplateError(twice, 'two functions have this short name');
  return definitions;
}

/** Define one function. Its bundle is copied to its own task root. */
export function defineFunction(resource: Resource, context: DefinitionContext): FunctionDefinition {
  const where = whereOf(resource);
  const runtime = text(resource, 'Runtime');
  if (!runtimes.has(runtime)) throw new UnsupportedTemplateError(where, `runtime ${runtime} cannot be run locally`);
  const name = shortName(resource.path);
  const role = text(resource, 'Role');
  const statements = statementsOfRole(role, 'lambda.amazonaws.com', context.deployment);
  const principal = context.credentials.issueForRole(name, role, statements);
  context.access.demand(principal, platformPermissions(resource, context.deployment.region), where);
  const taskRoot = prepareTaskRoot(resource, name, where, context);
  const memoryMb = optionalNumber(resource, 'MemorySize') ?? 128;
  const arn = resource.attribute('Arn');
  return {
    name,
    arn,
    timeoutSeconds: optionalNumber(resource, 'Timeout') ?? 3,
    memoryMb,
    principal,
    environment: {
      ...lambdaVariables(resource, runtime, memoryMb, taskRoot, context.deployment.region),
      ...endpointVariables(context.endpoint, principal),
      [workerVariables.functionArn]: arn,
      ...variables(record(resource.property('Environment')).Variables),
      ...context.extraEnvironment,
    },
  };
}

function prepareTaskRoot(resource: Resource, name: string, where: string, context: DefinitionContext): string {
  const key = String(record(resource.property('Code')).S3Key);
  const source = context.deployment.stacks.find((stack) => stack.name === resource.stackName)?.assets.get(key);
  if (!source || !existsSync(source))
    throw new UnsupportedTemplateError(where, `its bundle ${key} is not in the assembly`);
  const taskRoot = join(context.tasksDir, name);
  cpSync(source, taskRoot, { recursive: true });
  const issuers = join(taskRoot, trustedIssuersFile);
  if (existsSync(issuers)) writeFileSync(issuers, context.trustedIssuers(readFileSync(issuers, 'utf8')));
  return taskRoot;
}

function lambdaVariables(resource: Resource, runtime: string, memoryMb: number, taskRoot: string, region: string) {
  const logging = record(resource.property('LoggingConfig'));
  const level = logging.ApplicationLogLevel;
  return {
    _HANDLER: text(resource, 'Handler'),
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: `AWS_Lambda_${runtime}`,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
    AWS_LAMBDA_FUNCTION_NAME: resource.id,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_FORMAT: String(logging.LogFormat ?? 'Text'),
    ...(level === undefined ? {} : { AWS_LAMBDA_LOG_LEVEL: String(level) }),
    AWS_REGION: region,
    LAMBDA_TASK_ROOT: taskRoot,
    LANG: 'en_US.UTF-8',
    PATH: '/usr/local/bin:/usr/bin:/bin',
    TZ: 'UTC',
    // Nothing of the developer's own AWS configuration may reach a function.
    AWS_ACCOUNT_ID: accountId,
    AWS_CONFIG_FILE: join(taskRoot, 'no-config'),
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_SHARED_CREDENTIALS_FILE: join(taskRoot, 'no-credentials'),
  };
}

/** Services that functions call, as the SDK names their endpoints. */
const called = 'CLOUDFORMATION EVENTBRIDGE KMS LAMBDA RDS RDS_DATA S3 SECRETS_MANAGER SQS'.split(' ');

function endpointVariables(endpoint: string, { accessKeyId, secretAccessKey, sessionToken = '' }: Principal) {
  return {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
    ...Object.fromEntries(called.map((service) => [`AWS_ENDPOINT_URL_${service}`, endpoint])),
  };
}

function variables(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(record(value)).map(([name, text]) => [name, String(text)]));
}

/**
 * Let a debugger show the sources of a function: put its source map beside its bundle. The bundle as it is deployed names
 * no map. An assembly without maps is left as it is.
 *
 * @param name short name of the function
 * @param taskRoot folder of its bundle, a copy that may be changed
 */
export function attachSourceMap(assemblyDir: string, name: string, taskRoot: string): void {
  const maps = join(assemblyDir, sourceMapsDir);
  const bundle = join(taskRoot, 'index.mjs');
  const file = existsSync(maps) ? readdirSync(maps).find((each) => shortName(each) === `${name}.map`) : undefined;
  if (file === undefined || !existsSync(bundle)) return;
  const map = JSON.parse(readFileSync(join(maps, file), 'utf8')) as Record<string, unknown>;
  writeFileSync(`${bundle}.map`, JSON.stringify({ ...map, sourceRoot: `${pathToFileURL(maps).href}/` }));
  appendFileSync(bundle, '\n//# sourceMappingURL=index.mjs.map\n');
}
