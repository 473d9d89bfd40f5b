import { Duration, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { IpAddresses, type ISecurityGroup, type IVpc, SecurityGroup, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Key } from 'aws-cdk-lib/aws-kms';
import {
  AuroraPostgresEngineVersion,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
} from 'aws-cdk-lib/aws-rds';
import { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import { acknowledge } from './acknowledge.ts';
import type { Grantee } from './service-function.ts';
import type { ExistingDatabase, NewDatabase } from './settings.ts';

export interface CatalogueProps {
  readonly database: NewDatabase | ExistingDatabase;
  /** Makes the customer key of a new cluster and its secret. Not called for an existing one. */
  readonly newKey: () => Key;
}

/** The catalogue: Aurora PostgreSQL, reached through the RDS Data API only. */
export class Catalogue extends Construct {
  readonly clusterArn: string;
  readonly secretArn: string;
  readonly databaseName: string;
  readonly #secretKeyArn: string | undefined;

  constructor(scope: Construct, id: string, props: CatalogueProps) {
    super(scope, id);
    const { database } = props;
    if ('clusterArn' in database) {
      this.clusterArn = database.clusterArn;
      this.secretArn = database.secretArn;
      this.databaseName = database.databaseName;
      this.#secretKeyArn = database.secretKeyArn;
      return;
    }
    const key = props.newKey();
    this.databaseName = 'sda';
    const cluster = this.#makeCluster(database, key);
    this.clusterArn = cluster.clusterArn;
    if (!cluster.secret) throw new Error('a new cluster has a secret');
    this.secretArn = cluster.secret.secretArn;
    this.#secretKeyArn = key.keyArn;
  }

  /** Run statements. Statements are not tied to tables here: the database's own roles would do that. */
  grantQuery(grantee: Grantee): void {
    this.#grant(grantee, ['rds-data:ExecuteStatement']);
  }

  /** Run statements in transactions: what a migration needs. */
  grantMigrate(grantee: Grantee): void {
    this.#grant(grantee, [
      'rds-data:ExecuteStatement',
      'rds-data:BeginTransaction',
      'rds-data:CommitTransaction',
      'rds-data:RollbackTransaction',
    ]);
  }

  #grant(grantee: Grantee, actions: string[]): void {
    grantee.allow({ actions, resources: [this.clusterArn] });
    // The Data API reads the secret, and uses its key, as the caller.
    grantee.allow({ actions: ['secretsmanager:GetSecretValue'], resources: [this.secretArn] });
    if (this.#secretKeyArn) grantee.allow({ actions: ['kms:Decrypt'], resources: [this.#secretKeyArn] });
    grantee.configure(environment.databaseClusterArn, this.clusterArn);
    grantee.configure(environment.databaseSecretArn, this.secretArn);
    grantee.configure(environment.databaseName, this.databaseName);
  }

  #makeCluster(database: NewDatabase, key: Key): DatabaseCluster {
    const vpc = new Vpc(this, 'Network', {
      ipAddresses: IpAddresses.cidr('10.0.0.0/24'),
      // Named by position, so that synth never has to ask an account.
      availabilityZones: [0, 1].map((index) => Fn.select(index, Fn.getAzs())),
      natGateways: 0,
      subnetConfiguration: [{ name: 'database', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 26 }],
      // Nothing uses the default group; emptying it would cost a custom resource with wide permissions.
      restrictDefaultSecurityGroup: false,
    });
    // The CDK's classes miss `| undefined`, so they do not fit its own interfaces under exactOptionalPropertyTypes.
    const network = vpc as IVpc;
    acknowledge(
      vpc,
      'Nothing but the database is in this network: no gateway, no peering, no function, and a security group that admits nobody. There is no traffic to record.',
      'AwsSolutions-VPC7',
    );
    // The Data API does not come through the network, so nobody is let in or out.
    const closed = new SecurityGroup(this, 'Closed', {
      vpc: network,
      description: 'data-out catalogue: no connections',
      allowAllOutbound: false,
    });
    const cluster = new DatabaseCluster(this, 'Cluster', {
      engine: DatabaseClusterEngine.auroraPostgres({ version: AuroraPostgresEngineVersion.VER_18_6 }),
      defaultDatabaseName: this.databaseName,
      // RDS keeps and rotates the password; no value of it is ever in a template.
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
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    acknowledge(
      cluster,
      `The port cannot be reached: no route leads into ${Stack.of(this).stackName}'s network, and queries come through the Data API.`,
      'AwsSolutions-RDS11',
    );
    return cluster;
  }
}
