import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  CloudFormationClient,
  DescribeStackResourcesCommand,
  DescribeStacksCommand,
  type StackResource,
} from '@aws-sdk/client-cloudformation';
import { type DBCluster, DescribeDBClustersCommand, RDSClient } from '@aws-sdk/client-rds';
import { DescribeSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { stackNames } from '../../lib/contract/outputs.ts';
import { freePort } from '../../lib/local/http.ts';
import { type PostgresServer, startPostgres } from '../../test/helpers/postgres-server.ts';
import { end, interrupted, type Log, type Program, start } from './run-steps.ts';

const tools = import.meta.dirname;
export const region = 'us-east-1';
export const account = '000000000000';
const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };

/** An emulator that runs, with its database. */
export class Cloud {
  readonly database: PostgresServer;
  /** Variables with which every program finds it, and no other cloud. */
  readonly env: NodeJS.ProcessEnv;
  /** File with the decisions about roles. */
  readonly iamLog: string;
  /** Its gaps: those that patches stand in for, and those that it has closed automatically. */
  gaps: { readonly open: readonly string[]; readonly byItself: readonly string[] } = { open: [], byItself: [] };
  readonly #emulator: Program;

  private constructor(folder: string, database: PostgresServer, port: string, log: Log) {
    const paths = {
      key: join(folder, 'key.pem'),
      certificate: join(folder, 'cert.pem'),
      temporary: join(folder, 'tmp'),
    };
    mkdirSync(paths.temporary);
    this.database = database;
    this.iamLog = join(folder, 'iam.log');
    const env = { ...withoutAws(process.env), ...credentials, NODE_EXTRA_CA_CERTS: paths.certificate };
    this.env = {
      ...{ ...env, AWS_REGION: region, AWS_DEFAULT_REGION: region, AWS_ENDPOINT_URL: `https://127.0.0.1:${port}` },
      ...{ AWS_CA_BUNDLE: paths.certificate, SECOND_CLOUD_PORT: port },
      ...{
        NODE_OPTIONS: `--import=${join(tools, 'emulator-names.ts')}`,
        CDK_DISABLE_LEGACY_EXPORT_WARNING: '1',
        // `npm run synth` validates, which takes two thirds of a synth.
        CDK_VALIDATION: 'false',
        CI: 'true',
      },
    };
    const own = {
      ...{ IAM_LOG: this.iamLog, PGHOST: database.host, TMPDIR: paths.temporary },
      ...{ BIND_HOST: '127.0.0.1', GATEWAY_PORT: port, MINISTACK_HOST: '127.0.0.1' },
      ...{ USE_SSL: '1', MINISTACK_SSL_CERT: paths.certificate, MINISTACK_SSL_KEY: paths.key },
      // Functions run as processes of this machine, and may do what their roles may.
      ...{ LAMBDA_EXECUTOR: 'local', AUTH: 'true', DOCKER_HOST: 'unix:///nonexistent' },
      ...{ LAMBDA_ACCOUNT_CONCURRENCY: '1000', IOT_MTLS_ENABLED: '0', SFTP_ENABLED: '0' },
    };
    const argv = ['python', join(tools, 'emulator/start.py')];
    this.#emulator = start(argv, { cwd: folder, env: { ...env, ...own } }, log.path.replace(/\.log$/, '-emulator.log'));
  }

  /** @param folder for its certificate, its temporary files and its log */
  static async start(folder: string, log: Log): Promise<Cloud> {
    await log.run(certificate, { cwd: folder, env: process.env });
    const authorities = getCACertificates('default');
    setDefaultCACertificates([...authorities, readFileSync(join(folder, 'cert.pem'), 'utf8')]);
    const port = String(await freePort([0]));
    process.env.SECOND_CLOUD_PORT = port;
    const cloud = new Cloud(folder, await startPostgres(), port, log);
    try {
      await cloud.#listens();
      return cloud;
    } catch (error) {
      await cloud.stop();
      throw error;
    }
  }

  /** What runs. */
  async version(log: Log): Promise<string> {
    const versions = [
      ['pip', 'show', 'ministack'],
      ['postgres', '--version'],
    ].map(async (argv) => {
      return /\d[\d.]+/.exec(await log.run(argv, { cwd: tools, env: this.env }))?.[0];
    });
    const [ministack, postgres] = await Promise.all(versions);
    return `MiniStack ${ministack}, PostgreSQL ${postgres}`;
  }

  /** Clients of the SDK for JavaScript find it with this. */
  get client() {
    const { AWS_ENDPOINT_URL: endpoint = '' } = this.env;
    return { endpoint, region, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
  }

  /** Outputs of a stack. @throws Error when there is no such stack */
  async outputs(stackName = stackNames().service): Promise<Readonly<Record<string, string>>> {
    const command = new DescribeStacksCommand({ StackName: stackName });
    const { Stacks = [] } = await new CloudFormationClient(this.client).send(command);
    const outputs = Stacks[0]?.Outputs ?? [];
    return Object.fromEntries(
      outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue?.replace(/\/$/, '')]),
    );
  }

  async resources(stackName: string, type: string): Promise<readonly StackResource[]> {
    const command = new DescribeStackResourcesCommand({ StackName: stackName });
    const { StackResources = [] } = await new CloudFormationClient(this.client).send(command);
    return StackResources.filter(({ ResourceType }) => ResourceType === type);
  }

  /** The one cluster. */
  async cluster(): Promise<DBCluster> {
    const { DBClusters = [] } = await new RDSClient(this.client).send(new DescribeDBClustersCommand({}));
    return DBClusters[0] ?? {};
  }

  /** ARN of the key of a secret. */
  async keyOf(secretArn: string): Promise<string> {
    const client = new SecretsManagerClient(this.client);
    return (await client.send(new DescribeSecretCommand({ SecretId: secretArn }))).KmsKeyId ?? '';
  }

  async stop(): Promise<void> {
    await end(this.#emulator);
    await this.database.stop();
  }

  async #listens(): Promise<void> {
    const ended = once(this.#emulator, 'exit').then(() => Promise.reject(new Error('the emulator did not start')));
    const [line] = await Promise.race([once(createInterface({ input: this.#emulator.stdout }), 'line'), ended]);
    this.gaps = JSON.parse(line);
    for (let tries = 0; ; tries += 1) {
      const reply = await fetch(`${this.env.AWS_ENDPOINT_URL}/_ministack/health`).catch(() => undefined);
      if (reply?.ok) return;
      interrupted.throwIfAborted();
      if (tries === 300 || this.#emulator.exitCode !== null) throw new Error('the emulator does not answer');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

const apis = [`*.execute-api.${region}.amazonaws.com`, 'data.example.org', 'direct.example.org'];
const names = [...apis.map((name) => `DNS:${name}`), 'IP:127.0.0.1'].join(',');
/** Of the emulator, into the working folder. */
const certificate = [
  ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
  ...['-subj', '/CN=emulator', '-addext', `subjectAltName=${names}`, '-keyout', 'key.pem', '-out', 'cert.pem'],
];

/** What a person has set for real accounts must not lead there. */
function withoutAws(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([variable]) => !/^(AWS|CDK|DATA_OUT)_/.test(variable)));
}
