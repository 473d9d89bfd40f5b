import type { AccountCluster, LocalAccount } from '../account/account.ts';
import type { BufferedService, JsonObject } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { actionOf, elements, flag, parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import type { Deployment } from '../template/deployment.ts';

const version = '2014-10-31';
const namespace = `http://rds.amazonaws.com/doc/${version}/`;
const parameters = {
  DescribeDBClusters: ['DBClusterIdentifier'],
  DescribeOrderableDBInstanceOptions: ['Engine', 'EngineVersion', 'DBInstanceClass'],
  ModifyDBCluster: ['DBClusterIdentifier', 'DeletionProtection'],
} as const;

/** Whether each database cluster of the template is protected against deletion, by its ARN. */
export function protectedClusters(deployment: Deployment): Map<string, boolean> {
  const clusters = deployment.resources('AWS::RDS::DBCluster');
  return new Map(
    clusters.map((cluster) => [cluster.attribute('DBClusterArn'), cluster.property('DeletionProtection') === true]),
  );
}

/**
 * RDS, as far as this service and its tools use it: `ModifyDBCluster` with `DeletionProtection`, `DescribeDBClusters` of one
 * cluster, and `DescribeOrderableDBInstanceOptions` of Aurora Serverless v2.
 */
export function rds(
  clusters: Map<string, boolean>,
  account: Pick<LocalAccount, 'clusters' | 'serverlessVersions'>,
): BufferedService {
  /** Known by its ARN or identifier. */
  const arnOf = (input: JsonObject, known: Iterable<string>) => {
    const identifier = String(input.DBClusterIdentifier);
    const arn = [...known].find((each) => each === identifier || identifierOf(each) === identifier.toLowerCase());
    if (!arn) throw new AwsError(404, 'DBClusterNotFoundFault', `DBCluster ${identifier} not found.`);
    return arn;
  };
  const protect = (input: JsonObject) => {
    const arn = arnOf(input, clusters.keys());
    const on = flag(input, 'DeletionProtection');
    clusters.set(arn, on);
    const members = { DBClusterIdentifier: identifierOf(arn), DBClusterArn: arn, DeletionProtection: String(on) };
    return `<DBCluster>${elements(members)}</DBCluster>`;
  };
  const describe = (input: JsonObject) => {
    const arn = arnOf(input, account.clusters.keys());
    const facts = account.clusters.get(arn) as AccountCluster;
    const members = {
      DBClusterIdentifier: identifierOf(arn),
      DBClusterArn: arn,
      Engine: facts.engine,
      EngineVersion: facts.version,
      HttpEndpointEnabled: String(facts.dataApi),
    };
    return `<DBClusters><DBCluster>${elements(members)}</DBCluster></DBClusters>`;
  };
  const offer = (input: JsonObject) => {
    const dataApi = account.serverlessVersions.get(String(input.EngineVersion));
    const isOffered = input.Engine === 'aurora-postgresql' && input.DBInstanceClass === 'db.serverless';
    const option = elements({ ...(input as Record<string, string>), SupportsHttpEndpoint: String(dataApi) });
    const options =
      isOffered && dataApi !== undefined ? `<OrderableDBInstanceOption>${option}</OrderableDBInstanceOption>` : '';
    return `<OrderableDBInstanceOptions>${options}</OrderableDBInstanceOptions>`;
  };
  return {
    parse(_path, _headers, body) {
      const action = actionOf(body, Object.keys(parameters) as (keyof typeof parameters)[]);
      const input = parseQuery(body, action, version, parameters[action]);
      const resource = action === 'ModifyDBCluster' ? arnOf(input, clusters.keys()) : '*';
      return { action, input, permissions: [{ action: `rds:${action}`, resource }] };
    },
    async handle(action, input) {
      const results = {
        ModifyDBCluster: protect,
        DescribeDBClusters: describe,
        DescribeOrderableDBInstanceOptions: offer,
      };
      return queryReply(action, namespace, results[action as keyof typeof results](input));
    },
  };
}

function identifierOf(arn: string): string {
  return arn.split(':')[6] ?? '';
}
