import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { StackOutputs } from '../contract/outputs.ts';
import { accountServices } from './account/account.ts';
import { addArchiveUser, fillSecrets, prepareAccounts } from './accounts.ts';
import type { GatewayBehaviour } from './api-gateway/exchange.ts';
import { readApis } from './api-gateway/model.ts';
import { listenForApis } from './api-gateway/server.ts';
import { describeConnection, refuseSecondEngine, writePrivateFile } from './connection-file.ts';
import { startAwsEndpoint } from './endpoint/endpoint.ts';
import { Traffic } from './endpoint/traffic.ts';
import { eventBus } from './eventbridge/event-bus.ts';
import { AccessControl, type AccessEntry } from './iam/access.ts';
import { Credentials } from './iam/credentials.ts';
import { fullAccess } from './iam/policy.ts';
import { ResourcePolicies } from './iam/resource-policies.ts';
import { prepareKeys, withLocalIssuer } from './keys.ts';
import { keyUses } from './kms/key-uses.ts';
import { kms, SigningKeys } from './kms/kms.ts';
import { EventSources } from './lambda/event-source-mappings.ts';
import { type DefinitionContext, defineFunctions } from './lambda/function-definition.ts';
import { Functions, inspectedFunction, type OnLog, runTriggers } from './lambda/functions.ts';
import { startSchedules } from './lambda/schedules.ts';
import { Database } from './rds-data/database.ts';
import { rdsDataService } from './rds-data/rds-data.ts';
import { createBuckets } from './s3/create-buckets.ts';
import { LocalS3 } from './s3/local-s3.ts';
import { Secrets } from './secrets-manager/secrets.ts';
import { secretsManager } from './secrets-manager/secrets-manager.ts';
import { createQueues, startQueueServer } from './sqs/queue-server.ts';
import { localSqs, shortestVisibility } from './sqs/sqs.ts';
import { Logs, takeState } from './state.ts';
import { sts } from './sts/sts.ts';
import { loadAssembly } from './template/assembly.ts';
import { type Addresses, deploy } from './template/deployment.ts';
import { accountId } from './template/names.ts';

export interface EngineOptions {
  /** Cloud assembly, as `cdk synth` leaves it. */
  readonly assemblyDir: string;
  /** Port of the delivery API; the direct API takes the next one if it is free. @default - any free ports */
  readonly port?: number;
  /** Folder that keeps all state. @default - state is in a temporary folder */
  readonly dataDir?: string;
  /** @default - `DATA_OUT_CONNECTION`, or `connection.json` in `dataDir`, or `.local/connection.json` */
  readonly connectionPath?: string;
  /** Variables for every function, over those of the template. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Most seconds after which a message that failed comes back. @default - as its function asks */
  readonly mostRetrySeconds?: number;
  /** Short name of a function to which a debugger must be able to attach. @default - none */
  readonly inspect?: string;
  /** Receives every line of every function and access log, beside the log files. */
  readonly onLog?: OnLog;
  /** Customer keys of archive buckets outside the template, by bucket name. @default - they are under no customer key */
  readonly existingBucketKeys?: Readonly<Record<string, string>>;
  /** Receives the first decision of each kind about the calls of functions. */
  readonly onAccess?: (entry: AccessEntry) => void;
}

/**
 * Run the service from its synthesized template. `stop` ends everything and removes the connection file. It is safe to call
 * twice.
 *
 * @throws EngineError, one sentence that says what is wrong.
 */
export async function startEngine(options: EngineOptions) {
  // Large files make V8 give new objects more memory, which it keeps: up to 80 MB, which make the engine no faster.
  setFlagsFromString('--semi-space-growth-factor=1');
  const cleanup = new AsyncDisposableStack();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= cleanup.disposeAsync();
    return stopping;
  };
  try {
    const stacks = loadAssembly(options.assemblyDir);
    const state = takeState(options);
    cleanup.defer(() => state.release());
    await refuseSecondEngine(state.connectionPath);
    return { ...(await start(options, stacks, state, cleanup)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A running engine. */
export type Engine = Awaited<ReturnType<typeof startEngine>>;

async function start(
  options: EngineOptions,
  stacks: ReturnType<typeof loadAssembly>,
  state: ReturnType<typeof takeState>,
  cleanup: AsyncDisposableStack,
) {
  const now = () => new Date();
  const aws = await startAwsEndpoint();
  cleanup.defer(() => aws.stop());
  const apiUrls = new Map<string, string>();
  const addresses: Addresses = {
    queueUrl: (name) => `${aws.url}/${accountId}/${name}`,
    apiUrl: (id) => apiUrls.get(id) ?? `http://${id}.invalid`,
  };
  const deployment = deploy(stacks, addresses);
  const apis = readApis(deployment);
  const servers = await listenForApis(
    deployment,
    apis.map(({ id }) => id),
    apiUrls,
    options.port,
    cleanup,
  );

  const logs = new Logs(state.logsDir, { keep: state.dataDir !== undefined, onLog: options.onLog });
  cleanup.defer(() => logs.close());
  const inDir = (name: string) => (state.dataDir === undefined ? undefined : join(state.dataDir, name));
  const [queueServer, database, keys] = await Promise.all([
    startQueueServer(deployment.region, inDir('queues')).then((started) => {
      cleanup.defer(() => started.stop());
      return started;
    }),
    Database.open(join(state.workDir, 'postgres')).then((opened) => {
      cleanup.defer(() => opened.close());
      return opened;
    }),
    prepareKeys(join(state.workDir, 'keys')),
  ]);
  await createQueues(deployment, queueServer);
  const s3 = new LocalS3(join(state.workDir, 's3'), now);
  createBuckets(deployment, s3, options.existingBucketKeys);

  const outputs = deployment.outputs() as StackOutputs;
  const { protection, services } = accountServices(stacks, deployment);
  const accounts = prepareAccounts(inDir('accounts.json'));
  const secrets = new Secrets(deployment, inDir('secrets.json'));
  await fillSecrets(secrets, outputs, accounts, keys);
  const credentials = new Credentials();
  const signingKeys = new SigningKeys(deployment, inDir('kms.json'));
  const authority = {
    access: new AccessControl(new ResourcePolicies(deployment), options.onAccess),
    keyUses: keyUses(deployment, options.existingBucketKeys),
  };
  const operator = credentials.issueForUser('operator', fullAccess);

  const traffic = new Traffic();
  const visibility = {
    least: state.dataDir === undefined ? 0 : shortestVisibility,
    most: options.mostRetrySeconds ?? Number.POSITIVE_INFINITY,
  };
  const bus = eventBus(deployment.region, now, (event) => logs.write('events', JSON.stringify(event)));
  const cluster = {
    arn: outputs.DatabaseClusterArn,
    secretArn: outputs.DatabaseSecretArn,
    databaseName: outputs.DatabaseName,
    login: (secretArn: string) => secrets.login(secretArn),
  };
  const context: DefinitionContext = {
    deployment,
    credentials,
    access: authority.access,
    tasksDir: join(state.workDir, 'tasks'),
    endpoint: aws.url,
    trustedIssuers: (bundled) => withLocalIssuer(bundled, keys),
    extraEnvironment: options.environment ?? {},
  };
  const definitions = defineFunctions(context);
  const inspected = await inspectedFunction(options.inspect, options.assemblyDir, definitions);
  const functions = new Functions(definitions, (name, line) => logs.write(name, line), inspected);
  cleanup.defer(() => functions.stop());
  aws.open({
    credentials,
    s3,
    buffered: {
      sqs: localSqs(queueServer, deployment.region, visibility),
      'rds-data': rdsDataService(database, cluster),
      secretsmanager: secretsManager(secrets),
      events: bus.service,
      sts: sts(deployment, credentials, now),
      kms: kms(signingKeys),
      ...services,
    },
    ...authority,
    traffic,
    now,
  });
  await runTriggers(deployment, functions);
  // None of them runs again.
  await functions.recycle();
  await addArchiveUser(database, accounts.archiveUser);

  const sources = new EventSources(deployment, queueServer, functions, authority);
  cleanup.defer(() => sources.stop(() => functions.stop()));
  cleanup.defer(startSchedules(deployment, functions));
  const gateway: GatewayBehaviour = { contentLengthWithoutBody: 'kept' };
  for (const api of apis) {
    const onAccess = (line: string) => logs.write(`${api.name}-access`, line);
    servers.get(api.id)?.open({ api, functions, now, onAccess, behaviour: gateway });
  }
  const connection = describeConnection(outputs, aws.url, deployment.region, operator, accounts, keys, logs.directory);
  cleanup.defer(writePrivateFile(state.connectionPath, `${JSON.stringify(connection, null, 2)}\n`));
  return {
    connection,
    connectionPath: state.connectionPath,
    accounts,
    /** Counters, observation and faults of the AWS calls. */
    traffic,
    /** The queues themselves, past every policy. */
    queues: queueServer,
    functions,
    /** May be changed at any time. */
    gateway,
    database,
    s3,
    /** Users may be added at any time. */
    credentials,
    /** Who may do what: owners of buckets and keys may change their policies. */
    access: authority.access,
    /** What is protected against deletion. May be changed at any time. */
    protection,
    /** What EventBridge took, the last thousand events. */
    events: bus.events,
    /** `host:port` of the inspector, when one was asked for. */
    inspector: inspected && `127.0.0.1:${inspected.port}`,
  };
}
