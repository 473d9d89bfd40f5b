import { Duration, Fn } from 'aws-cdk-lib';
import { IpAddresses, type ISecurityGroup, type IVpc, SecurityGroup, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Key } from 'aws-cdk-lib/aws-kms';
import {
  AuroraPostgresEngineVersion,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
} from 'aws-cdk-lib/aws-rds';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { type DatabaseRole, databaseRoles } from '../../contract/database-roles.ts';
import { type EnvironmentVariable, environment } from '../../contract/environment.ts';
import type { Grantee } from '../functions/service-function.ts';
import { allowKey } from '../security/keys.ts';
import { acknowledge, rules } from '../security/rules.ts';
import { databaseVersion, type ExistingDatabase, type NewDatabase } from '../settings.ts';
import { allowReading, type ReadableSecret } from './secrets.ts';

/** Aurora's default for `max_connections` with 16 GiB, the least that classes with a Data API have: memory over 9,531,392 bytes. */
const usualConnections = 1800;

/**
 * Aurora's default for `max_connections` of a serverless cluster, from its most capacity: 189 for 1 unit, 823 for 4, 1,669 for 8,
 * 3,360 for 16, and at most 5,000; at most 2,000 where the least capacity is 0 or 0.5 (Aurora user guide, *Performance and
 * scaling for Aurora Serverless v2*). These lie on a line.
 */
function serverlessConnections({ minCapacity, maxCapacity }: NewDatabase): number {
  return Math.min(minCapacity > 0.5 ? 5000 : 2000, Math.round(211.4 * maxCapacity - 22.4));
}

interface CatalogueProps {
  readonly database: NewDatabase | ExistingDatabase;
  /** Makes the customer key of a new cluster and its secret. Not called for an existing one. */
  readonly newKey: () => Key;
  /** Makes the customer key of the secret of list and stream's authorizer. Not called for an existing cluster. */
  readonly newProxyKey: () => Key;
  /** The same for the state of exports. */
  readonly newAuditorKey: () => Key;
  /** The same for direct access. Absent: direct access is off. */
  readonly newReaderKey: (() => Key) | undefined;
  /** The same for the consumers of the queues. */
  readonly newWorkerKey: () => Key;
}

const statementsAndTransactions = [
  'rds-data:ExecuteStatement',
  'rds-data:BeginTransaction',
  'rds-data:CommitTransaction',
  'rds-data:RollbackTransaction',
];

/** The catalogue: Aurora PostgreSQL, reached through the RDS Data API only. */
export class Catalogue extends Construct {
  readonly clusterArn: string;
  /** The name by which CloudWatch knows the cluster. */
  readonly clusterIdentifier: string;
  /** About how many connections the cluster takes. */
  readonly maxConnections: number;
  readonly secretArn: string;
  readonly databaseName: string;
  readonly #isNew: boolean;
  readonly #owner: ReadableSecret;
  /** Credentials of list and stream's authorizer; the owner's where the operator gave no others for an existing cluster. */
  readonly #proxy: ReadableSecret;
  /** The same for the state of exports. */
  readonly #auditor: ReadableSecret;
  /** The same for direct access. Absent: direct access is off. */
  readonly #reader: ReadableSecret | undefined;
  /** The same for the consumers of the queues. */
  readonly #worker: ReadableSecret;

  constructor(scope: Construct, id: string, props: CatalogueProps) {
    super(scope, id);
    const { database } = props;
    this.#isNew = !('clusterArn' in database);
    if ('clusterArn' in database) {
      this.clusterArn = database.clusterArn;
      this.clusterIdentifier = database.clusterArn.split(':').slice(6).join(':');
      this.maxConnections = database.maxConnections ?? usualConnections;
      this.secretArn = database.secretArn;
      this.databaseName = database.databaseName;
      this.#owner = { secretArn: database.secretArn, keyArn: database.secretKeyArn };
      const given = (secretArn: string | undefined, keyArn: string | undefined): ReadableSecret =>
        secretArn ? { secretArn, keyArn } : this.#owner;
      this.#proxy = given(database.proxySecretArn, database.proxySecretKeyArn);
      this.#auditor = given(database.auditorSecretArn, database.auditorSecretKeyArn);
      this.#reader = props.newReaderKey && given(database.readerSecretArn, database.readerSecretKeyArn);
      this.#worker = given(database.workerSecretArn, database.workerSecretKeyArn);
      return;
    }
    const key = props.newKey();
    this.databaseName = 'sda';
    const cluster = this.#makeCluster(database, key);
    this.clusterArn = cluster.clusterArn;
    this.clusterIdentifier = cluster.clusterIdentifier;
    this.maxConnections = serverlessConnections(database);
    if (!cluster.secret) throw new Error('a new cluster has a secret');
    this.secretArn = cluster.secret.secretArn;
    this.#owner = { secretArn: this.secretArn, keyArn: key.keyArn };
    this.#proxy = this.#makeRoleSecret('ProxySecret', props.newProxyKey(), {
      username: databaseRoles.proxy,
      description: "Role of list and stream's authorizer in the catalogue: reads the archive users",
    });
    this.#auditor = this.#makeRoleSecret('AuditorSecret', props.newAuditorKey(), {
      username: databaseRoles.auditor,
      description: 'Role of the state of exports in the catalogue: reads requests, their files and the audit trail',
    });
    this.#reader =
      props.newReaderKey &&
      this.#makeRoleSecret('ReaderSecret', props.newReaderKey(), {
        username: databaseRoles.reader,
        description: 'Role of direct access in the catalogue: reads datasets and files',
      });
    this.#worker = this.#makeRoleSecret('WorkerSecret', props.newWorkerKey(), {
      username: databaseRoles.worker,
      description: 'Role of the export in the catalogue: reads datasets and files, records what becomes of requests',
    });
  }

  /**
   * Run statements as a role that reads datasets and files, appends to the audit trail and records what becomes of requests:
   * for what works on queues or on a schedule.
   */
  grantExport(grantee: Grantee): void {
    this.#grant(grantee, this.#worker, ['rds-data:ExecuteStatement']);
  }

  /** The same, with several statements in one transaction. */
  grantExportInTransactions(grantee: Grantee): void {
    this.#grant(grantee, this.#worker, statementsAndTransactions);
  }

  /** Run statements as a role that reads the archive users and nothing else: for what answers to the network. */
  grantReadArchiveUsers(grantee: Grantee): void {
    this.#grant(grantee, this.#proxy, ['rds-data:ExecuteStatement']);
  }

  /** Run statements as a role that reads what became of exports and nothing else: for what answers to administrators. */
  grantReadExports(grantee: Grantee): void {
    this.#grant(grantee, this.#auditor, ['rds-data:ExecuteStatement']);
  }

  /** Run statements as a role that reads datasets and files and nothing else: for what answers to the network. */
  grantRead(grantee: Grantee): void {
    if (!this.#reader) throw new Error('direct access is off');
    this.#grant(grantee, this.#reader, ['rds-data:ExecuteStatement']);
  }

  /**
   * Run statements in transactions as the owner of all tables, and read the other roles' passwords: for the migration. Where
   * direct access is off, it takes the password of that role away.
   */
  grantMigrate(grantee: Grantee): void {
    this.#grantOwner(grantee);
    if (!this.#reader) grantee.configure(environment.databaseClosedRole, databaseRoles.reader);
  }

  /** The same, and write other logins into the secrets that the storage stack made: for their rotation. */
  grantRotate(grantee: Grantee): void {
    this.#grantOwner(grantee);
    for (const { secretArn, keyArn } of Object.values(this.#ownRoleSecrets)) {
      grantee.allow({
        actions: [
          'secretsmanager:DescribeSecret',
          'secretsmanager:PutSecretValue',
          'secretsmanager:UpdateSecretVersionStage',
        ],
        resources: [secretArn],
      });
      allowKey(grantee, this, { service: 'secretsmanager', actions: ['kms:GenerateDataKey'], keyArn });
    }
  }

  /** Secret of a login that reads the state of exports and the audit trail. */
  get auditorSecretArn(): string {
    return this.#auditor.secretArn;
  }

  /** ARNs of the roles' secrets that the storage stack made, by the names of the roles. */
  get ownRoleSecretArns(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(this.#ownRoleSecrets).map(([role, { secretArn }]) => [role, secretArn]));
  }

  get #ownRoleSecrets(): Readonly<Record<string, ReadableSecret>> {
    if (!this.#isNew) return {};
    const reader = this.#reader && { Reader: this.#reader };
    return { Proxy: this.#proxy, Auditor: this.#auditor, ...reader, Worker: this.#worker };
  }

  /** Protect a new cluster against deletion. An existing one is left as its owner has it. */
  grantProtect(grantee: Grantee): void {
    if (!this.#isNew) return;
    grantee.allow({ actions: ['rds:ModifyDBCluster'], resources: [this.clusterArn] });
    grantee.configure(environment.databaseClusterArn, this.clusterArn);
  }

  #grantOwner(grantee: Grantee): void {
    this.#grant(grantee, this.#owner, statementsAndTransactions);
    this.#grantPassword(grantee, this.#proxy, environment.databaseProxySecretArn);
    this.#grantPassword(grantee, this.#auditor, environment.databaseAuditorSecretArn);
    if (this.#reader) this.#grantPassword(grantee, this.#reader, environment.databaseReaderSecretArn);
    this.#grantPassword(grantee, this.#worker, environment.databaseWorkerSecretArn);
  }

  #grantPassword(grantee: Grantee, secret: ReadableSecret, variable: EnvironmentVariable): void {
    if (secret === this.#owner) return;
    allowReading(grantee, this, secret);
    grantee.configure(variable, secret.secretArn);
  }

  #grant(grantee: Grantee, secret: ReadableSecret, actions: string[]): void {
    grantee.allow({ actions, resources: [this.clusterArn] });
    // The Data API reads the secret, and uses its key, as the caller.
    allowReading(grantee, this, secret);
    grantee.configure(environment.databaseClusterArn, this.clusterArn);
    grantee.configure(environment.databaseSecretArn, secret.secretArn);
    grantee.configure(environment.databaseName, this.databaseName);
  }

  #makeRoleSecret(id: string, key: Key, role: { username: DatabaseRole; description: string }): ReadableSecret {
    const secret = new Secret(this, id, {
      description: role.description,
      generateSecretString: {
        secretStringTemplate: JSON.stringify({ username: role.username }),
        generateStringKey: 'password',
        passwordLength: 48,
        excludePunctuation: true,
      },
      encryptionKey: key,
    });
    acknowledge(
      secret,
      'The password is random, serves one role with rights to a few tables, and works through the Data API only. With the setting databaseRotationDays it is rotated, by a schedule in the service stack, where the rule does not look.',
      ...rules.secretRotation,
    );
    return { secretArn: secret.secretArn, keyArn: key.keyArn };
  }

  #makeCluster(database: NewDatabase, key: Key): DatabaseCluster {
    const vpc = new Vpc(this, 'Network', {
      ipAddresses: IpAddresses.cidr('10.0.0.0/24'),
      // Named by position, so that synth never has to ask an account.
      availabilityZones: [0, 1].map((index) => Fn.select(index, Fn.getAzs())),
      natGateways: 0,
      subnetConfiguration: [{ name: 'database', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 26 }],
      restrictDefaultSecurityGroup: false,
    });
    // The CDK's classes miss `| undefined`, so they do not fit its own interfaces under exactOptionalPropertyTypes.
    const network = vpc as IVpc;
    acknowledge(
      vpc,
      'Nothing but the database is in this network: no gateway, no peering, no function, and a security group that admits no connection. There is no traffic to record.',
      ...rules.networkFlowLog,
    );
    acknowledge(
      vpc,
      'Nothing uses the default security group. To empty it would take a custom resource with wide permissions.',
      ...rules.networkDefaultGroup,
    );
    // The Data API does not use this network, so no connection is allowed in or out.
    const closed = new SecurityGroup(this, 'Closed', {
      vpc: network,
      description: 'data-out catalogue: no connections',
      allowAllOutbound: false,
    });
    const cluster = new DatabaseCluster(this, 'Cluster', {
      engine: DatabaseClusterEngine.auroraPostgres({
        version: AuroraPostgresEngineVersion.of(databaseVersion, databaseVersion),
      }),
      // PostgreSQL lets every role change its own password, and a function's login would lock the other functions out.
      parameters: { 'rds.restrict_password_commands': '1' },
      defaultDatabaseName: this.databaseName,
      // RDS keeps and rotates the password; its value is never in a template.
      manageMasterUserPassword: true,
      credentials: Credentials.fromUsername('data_out', { encryptionKey: key }),
      writer: ClusterInstance.serverlessV2('writer', { publiclyAccessible: false, autoMinorVersionUpgrade: true }),
      serverlessV2MinCapacity: database.minCapacity,
      serverlessV2MaxCapacity: database.maxCapacity,
      enableDataApi: true,
      iamAuthentication: true,
      vpc: network,
      securityGroups: [closed as ISecurityGroup],
      vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
      storageEncrypted: true,
      storageEncryptionKey: key,
      backup: { retention: Duration.days(database.backupDays) },
      copyTagsToSnapshot: true,
    });
    acknowledge(
      cluster,
      'Deletion protection is switched on after the deployment: with it, a first deployment that fails could not be undone.',
      ...rules.databaseDeletionProtection,
    );
    acknowledge(
      cluster,
      "PostgreSQL's log quotes rows in its messages, such as names of users. It stays in the cluster. Who did what is in the audit trail.",
      ...rules.databaseLogExport,
    );
    acknowledge(
      cluster,
      'RDS backs the cluster up without a pause, for `database.backupDays`. A plan of AWS Backup, with copies elsewhere, belongs to the whole account.',
      ...rules.databaseBackupPlan,
    );
    acknowledge(
      cluster,
      'AWS runs the operating system of a serverless instance. Capacity and connections are metrics of CloudWatch without it.',
      ...rules.databaseEnhancedMonitoring,
    );
    return cluster;
  }
}
