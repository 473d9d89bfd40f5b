import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseJson } from '../common/untrusted-json.ts';
import { type Connection, connection, connectionVariable, defaultConnectionFile } from '../contract/connection.ts';
import { outputs, requiredOutputs, type StackOutputs, stackNames } from '../contract/outputs.ts';
import { DataOutError, unavailable } from '../errors.ts';
import type { RetryDependencies } from '../service/export/retry.ts';
import type { WithdrawalDependencies } from '../service/export/withdraw/withdraw.ts';
import { type AwsClientOptions, rdsDataClient, s3Client, secretsManagerClient } from '../service/stores/clients.ts';
import { deliveriesQueue, fileExportsQueue } from '../service/stores/queues.ts';
import { DataApi } from '../service/stores/rds/data-api.ts';
import { s3Outbox } from '../service/stores/s3/outbox.ts';
import { secretDenyList } from '../service/stores/secrets.ts';
import { usageError } from '../terminal/errors.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { RdsErasure } from './audit/erasure.ts';
import { RdsAuditTrail } from './audit/trail.ts';
import { ArchiveUserWriter } from './catalogue/archive-users.ts';
import { RdsArchiveHeaders } from './catalogue/headers.ts';
import { RdsArchiveWriter } from './catalogue/writer.ts';
import { OpsError } from './errors.ts';
import { S3ArchiveWriter } from './stores/archive-writer.ts';
import { jsonSecret } from './stores/json-secret.ts';
import { operatorQueues } from './stores/operator-role.ts';
import { readStackOutputs } from './stores/stacks.ts';

/** Milliseconds to wait for the answer of a local engine. Unlike a cluster, it never has to resume first. */
const localPatience = 3000;

/** Options that every command takes, before or after its own. `aws`: a deployed stack, not the local engine. */
export type GlobalOptions = {
  readonly [Name in 'connection' | 'stage' | 'region']?: string | undefined;
} & { readonly aws?: boolean | undefined };

/** Where one deployment is, and how its AWS services are reached. */
export interface Deployment {
  /** Its name: `local engine http://…`, `stacks … in eu-north-1`. */
  readonly description: string;
  /** The local engine's connection file; `undefined` for deployed stacks. */
  readonly connection: Connection | undefined;
  readonly outputs: StackOutputs;
  readonly clientOptions: (service: keyof Connection['endpoints']) => AwsClientOptions;
}

/**
 * The deployment that the options name: the local engine, or with `--aws` deployed stacks. Without `--aws` and without
 * a connection file it fails, so that no command ever works on the wrong one.
 */
export async function connectTarget(options: GlobalOptions, terminal: Terminal): Promise<Target> {
  return targetOf(await findDeployment(options, terminal));
}

/** As {@link connectTarget}, without opening it. @throws UsageError */
export async function findDeployment(options: GlobalOptions, terminal: Terminal): Promise<Deployment> {
  if (!options.aws) {
    for (const name of ['stage', 'region'] as const) {
      if (options[name] !== undefined) throw usageError(`--${name}`, 'is for deployed stacks: add --aws');
    }
    const found = await readConnection(options, terminal);
    await expectAnswer(found, terminal);
    return localDeployment(found);
  }
  if (options.connection !== undefined) throw usageError('--connection', 'names the local engine: leave --aws out');
  return await deployedStacks(options, terminal.signal);
}

export function localTarget(connection: Connection): Target {
  return targetOf(localDeployment(connection));
}

/** The local engine that a connection file describes. */
export function localDeployment(connection: Connection): Deployment {
  const { endpoints, region, credentials, proxyUrl, outputs } = connection;
  return {
    description: `local engine ${proxyUrl}`,
    connection,
    outputs,
    clientOptions: (service) => ({ endpoint: endpoints[service], region, credentials }),
  };
}

async function deployedStacks(options: GlobalOptions, signal: AbortSignal): Promise<Deployment> {
  const { storage, service } = stackNames(options.stage);
  const names = [storage, service];
  const given = options.region === undefined ? {} : { region: options.region };
  const { outputs: found, region } = await readStackOutputs(names, given, signal);
  const missing = requiredOutputs.find((name) => found[name] === undefined);
  if (missing !== undefined) {
    const message = `${names.join(' and ')} have no output ${missing}: deploy them with this version`;
    throw new DataOutError('not_found', message);
  }
  const description = `stacks ${names.join(' and ')} in ${region}`;
  return { description, connection: undefined, outputs: found as StackOutputs, clientOptions: () => ({ region }) };
}

/** The connection file: the option, else the environment variable, else the default one in the working folder. */
async function readConnection(options: GlobalOptions, { env, folder }: Terminal): Promise<Connection> {
  const named = options.connection ?? (env[connectionVariable] || undefined);
  const file = resolve(folder, named ?? defaultConnectionFile);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    const missing = named === undefined ? 'no local engine runs from this folder' : 'no local engine runs';
    const remedy = `Start one with npm start, name its file with --connection or ${connectionVariable}, or say --aws`;
    throw new DataOutError('not_found', `${missing}: there is no ${file}. ${remedy}`);
  });
  const parsed = connection.safeParse(parseJson(text));
  if (!parsed.success) throw new OpsError('unusable_input', `${file} is not the connection file of a local engine`);
  return parsed.data;
}

/** A killed engine leaves its connection file behind, so the engine must answer first. Any answer will do. */
async function expectAnswer({ proxyUrl }: Connection, terminal: Terminal): Promise<void> {
  const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(localPatience)]);
  await fetch(proxyUrl, { signal, redirect: 'manual' }).then(
    (response) => response.body?.cancel(),
    (cause: unknown) => {
      throw unavailable(`the engine at ${proxyUrl} does not answer; start it with npm start`, { cause });
    },
  );
}

/** The database of a deployment. @param secretArn secret of the role. @default - the owner of the tables */
export function databaseOf({ connection, outputs: stack, clientOptions }: Deployment, secretArn?: string): DataApi {
  return new DataApi({
    client: rdsDataClient(clientOptions('rdsData')),
    clusterArn: stack[outputs.databaseClusterArn],
    secretArn: secretArn ?? stack[outputs.databaseSecretArn],
    database: stack[outputs.databaseName],
    ...(connection && { remainingMs: () => localPatience }),
  });
}

/** One deployment: everything that the tool reads and changes. */
export type Target = ReturnType<typeof targetOf>;

/** What a class offers, without its private fields: a test may stand in for it. */
const publicPart = <T>(instance: T): Pick<T, keyof T> => instance;

/** Open a deployment for the operator's tool. */
export function targetOf(deployment: Deployment) {
  const { description, connection, outputs: stack, clientOptions } = deployment;
  const db = databaseOf(deployment);
  const secrets = secretsManagerClient(clientOptions('secretsManager'));
  const bucket = stack[outputs.archiveBucket];
  const s3Options = clientOptions('s3');
  const s3 = s3Client(s3Options);
  const outbox = s3Outbox({ client: s3, bucket: stack[outputs.outboxBucket] });
  const sqs = operatorQueues(stack[outputs.redriveRoleArn], clientOptions);
  const deliveries = deliveriesQueue({ client: sqs, queueUrl: stack[outputs.deliveriesQueueUrl] });
  const expiryDays = Number(stack[outputs.outboxExpiryDays]);
  const gib = stack[outputs.outboxQuotaGib];
  /** What finds and removes containers. */
  const removal: WithdrawalDependencies = { db, outbox, deliveries, expiryDays };
  /** What stages files again that were given up. */
  const retrying: RetryDependencies = {
    ...{ db, deliveries },
    fileExports: fileExportsQueue({ client: sqs, queueUrl: stack[outputs.fileExportsQueueUrl] }),
    smallFileExports: fileExportsQueue({ client: sqs, queueUrl: stack[outputs.smallFileExportsQueueUrl] }),
    denied: secretDenyList({ client: secrets, secretArn: stack[outputs.visaDenyListSecretArn] }),
    quota: gib === undefined ? undefined : { gib: Number(gib), expiryDays },
  };
  const endpoint = s3Options.endpoint ?? `https://s3.${s3Options.region}.amazonaws.com`;
  return {
    description,
    connection,
    /** Base URL of the direct API; `undefined`: there is none. */
    directUrl: stack[outputs.dataOutUrl],
    /** What stable ids look like here. */
    identifiers: {
      dataset: new RegExp(stack[outputs.datasetIdPattern], 'u'),
      file: new RegExp(stack[outputs.fileIdPattern], 'u'),
    },
    bodies: publicPart(new S3ArchiveWriter({ client: s3, bucket, location: `${endpoint}/${bucket}` })),
    catalogue: publicPart(new RdsArchiveWriter(db)),
    archiveHeaders: publicPart(new RdsArchiveHeaders(db)),
    archiveUsers: publicPart(new ArchiveUserWriter(db)),
    audit: publicPart(new RdsAuditTrail(databaseOf(deployment, stack[outputs.databaseAuditorSecretArn]))),
    outbox,
    removal,
    retrying,
    erasure: publicPart(new RdsErasure(db)),
    administrators: jsonSecret({ client: secrets, secretArn: stack[outputs.adminSecretArn] }),
    archiveKeys: jsonSecret({ client: secrets, secretArn: stack[outputs.archiveKeysSecretArn] }),
    visaDenyList: jsonSecret({ client: secrets, secretArn: stack[outputs.visaDenyListSecretArn] }),
  };
}
