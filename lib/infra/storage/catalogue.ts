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
import { databaseRoles, roleSecretVariables } from '../../contract/database-roles.ts';
import { environment } from '../../contract/environment.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { newKey } from '../security/keys.ts';
import { acknowledge } from '../security/rules.ts';
import { databaseVersion, type ExistingDatabase, type NewDatabase } from '../settings.ts';
import { allowReading, type ReadableSecret } from './secrets.ts';

/**
 * Aurora's default for `max_connections` of a serverless cluster, from its most capacity: 189 for 1 unit, 823 for 4, 1,669 for 8,
 * 3,360 for 16, and at most 5,000; at most 2,000 where the least capacity is 0 or 0.5 (Aurora user guide, *Performance and
 * scaling for Aurora Serverless v2*). These lie on a line.
 */
function serverlessConnections({ minCapacity, maxCapacity }: NewDatabase): number {
  return Math.min(minCapacity > 0.5 ? 5000 : 2000, Math.round(211.4 * maxCapacity - 22.4));
}

/** The roles that functions have in the database, each with a secret that only they read. */
const roles = {
  proxy: "Role of list and stream's authorizer in the catalogue: reads the archive users",
  auditor: 'Role of the state of exports in the catalogue: reads requests, their files and the audit trail',
  reader: 'Role of the direct API in the catalogue: reads datasets and files',
  worker: 'Role of the export in the catalogue: reads datasets and files, records what happens to requests',
} as const;

type Role = keyof typeof roles;

interface CatalogueProps {
  readonly database: NewDatabase | ExistingDatabase;
  /** Whether the direct API exists, which has its own role. */
  readonly directAccess: boolean;
}

const statements = ['rds-data:ExecuteStatement'];
const statementsAndTransactions = [
  ...statements,
  'rds-data:BeginTransaction',
  'rds-data:CommitTransaction',
  'rds-data:RollbackTransaction',
];

/** The catalogue: Aurora PostgreSQL, reached through the RDS Data API only. */
export class Catalogue extends Construct {
  readonly clusterArn: string;
  /** The name by which CloudWatch knows the cluster. */
  readonly clusterIdentifier: string;
  /** About how many connections a new cluster takes; `undefined` for an existing one. */
  readonly maxConnections: number | undefined;
  readonly secretArn: string;
  readonly databaseName: string;
  readonly #isNew: boolean;
  readonly #owner: ReadableSecret;
  /** Credentials of each role. */
  readonly #roles: ReadonlyMap<Role, ReadableSecret>;

  constructor(scope: Construct, id: string, { database, directAccess }: CatalogueProps) {
    super(scope, id);
    this.#isNew = !('clusterArn' in database);
    const names = (Object.keys(roles) as Role[]).filter((role) => directAccess || role !== 'reader');
    this.#roles = new Map(names.map((role) => [role, this.#makeRoleSecret(role)]));
    if ('clusterArn' in database) {
      this.clusterArn = database.clusterArn;
      this.clusterIdentifier = database.clusterArn.split(':').slice(6).join(':');
      this.maxConnections = undefined;
      this.secretArn = database.secretArn;
      this.databaseName = database.databaseName;
      this.#owner = { secretArn: database.secretArn, keyArn: database.secretKeyArn };
      return;
    }
    const key = newKey(this, 'CatalogueKey', 'Catalogue and its credentials');
    this.databaseName = 'sda';
    const cluster = this.#makeCluster(database, key);
    this.clusterArn = cluster.clusterArn;
    this.clusterIdentifier = cluster.clusterIdentifier;
    this.maxConnections = serverlessConnections(database);
    if (!cluster.secret) throw new Error('a new cluster has a secret');
    this.secretArn = cluster.secret.secretArn;
    this.#owner = { secretArn: this.secretArn, keyArn: key.keyArn };
  }

  /** Run statements as a role. @param options.transactions also several in one transaction */
  grant(grantee: ServiceFunction, role: Role, { transactions } = { transactions: false }): void {
    this.#grant(grantee, this.#secretOf(role), transactions ? statementsAndTransactions : statements);
  }

  /**
   * Run statements in transactions as the owner of all tables, and read the other roles' passwords: for the migration. Where
   * the direct API is off, it takes the password of that role away.
   */
  grantMigrate(grantee: ServiceFunction): void {
    this.#grant(grantee, this.#owner, statementsAndTransactions);
    for (const [role, secret] of this.#roles) {
      allowReading(grantee, this, secret);
      grantee.configure(roleSecretVariables[role], secret.secretArn);
    }
    if (!this.#roles.has('reader')) grantee.configure(environment.databaseClosedRole, databaseRoles.reader);
  }

  /** Secret of a login that reads the state of exports and the audit trail. */
  get auditorSecretArn(): string {
    return this.#secretOf('auditor').secretArn;
  }

  /** Protect a new cluster against deletion. An existing one is left as its owner has it. */
  grantProtect(grantee: ServiceFunction): void {
    if (!this.#isNew) return;
    grantee.allow({ actions: ['rds:ModifyDBCluster'], resources: [this.clusterArn] });
    grantee.configure(environment.databaseClusterArn, this.clusterArn);
  }

  #secretOf(role: Role): ReadableSecret {
    const secret = this.#roles.get(role);
    if (!secret) throw new Error('the direct API is off');
    return secret;
  }

  #grant(grantee: ServiceFunction, secret: ReadableSecret, actions: string[]): void {
    grantee.allow({ actions, resources: [this.clusterArn] });
    // The Data API reads the secret, and uses its key, as the caller.
    allowReading(grantee, this, secret);
    grantee.configure(environment.databaseClusterArn, this.clusterArn);
    grantee.configure(environment.databaseSecretArn, secret.secretArn);
    grantee.configure(environment.databaseName, this.databaseName);
  }

  #makeRoleSecret(role: Role): ReadableSecret {
    // Part of the names of resources: `Proxy`.
    const id = `${role[0]?.toUpperCase()}${role.slice(1)}`;
    const description = roles[role];
    const key = newKey(this, `Catalogue${id}Key`, description);
    const secret = new Secret(this, `${id}Secret`, {
      description,
      generateSecretString: {
        secretStringTemplate: JSON.stringify({ username: databaseRoles[role] }),
        generateStringKey: 'password',
        passwordLength: 48,
        excludePunctuation: true,
      },
      encryptionKey: key,
    });
    acknowledge(secret, {
      secretRotation:
        'The password is random, serves one role with rights to a few tables, and works through the Data API only. An operator changes it by hand: a new value in the secret, then the function Migrate, which sets it.',
    });
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
    acknowledge(vpc, {
      networkFlowLog:
        'Nothing but the database is in this network: no gateway, no peering, no function, and a security group that admits no connection. There is no traffic to record.',
      'HIPAA.Security-VPCDefaultSecurityGroupClosed':
        'Nothing uses the default security group. To empty it would take a custom resource with wide permissions.',
    });
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
    acknowledge(cluster, {
      databaseDeletionProtection:
        'Deletion protection is switched on after the deployment: with it, a first deployment that fails could not be undone.',
      'HIPAA.Security-RDSLoggingEnabled[LogExport::postgresql]':
        "PostgreSQL's log quotes rows in its messages, such as names of users. It stays in the cluster. Who did what is in the audit trail.",
      'HIPAA.Security-RDSInBackupPlan':
        'RDS backs the cluster up without a pause, for `database.backupDays`. A plan of AWS Backup, with copies elsewhere, belongs to the whole account.',
      'HIPAA.Security-RDSEnhancedMonitoringEnabled':
        'AWS runs the operating system of a serverless instance. Capacity and connections are metrics of CloudWatch without it.',
    });
    return cluster;
  }
}
