import type { AccountCluster, LocalAccount } from '../account/account.ts';
import type { BufferedService, JsonObject } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { actionOf, elements, flag, parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { optionalText, record, whereOf } from '../template/template.ts';

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
 * Whether a cluster of the template lets members of `rds_password` alone set passwords. The parameter is static: RDS reads it when
 * the database starts.
 *
 * @throws UnsupportedTemplateError for another parameter, or another value
 */
export function restrictsPasswords(deployment: Deployment): boolean {
  const used = deployment
    .resources('AWS::RDS::DBCluster')
    .map((each) => optionalText(each, 'DBClusterParameterGroupName'));
  const groups = deployment.resources('AWS::RDS::DBClusterParameterGroup').filter(({ id }) => used.includes(id));
  const values = groups.flatMap((group) =>
    Object.entries(record(group.property('Parameters'))).map(([name, value]) => {
      if (name === 'rds.restrict_password_commands' && (value === '0' || value === '1')) return value;
      throw new UnsupportedTemplateError(whereOf(group), `the parameter ${name} = ${value} cannot be set locally`);
    }),
  );
  return values.includes('1');
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
    const { Engine: engine, EngineVersion: asked, DBInstanceClass: instanceClass } = input as Record<string, string>;
    // A major version stands for all of its minor ones.
    const found = [...account.serverlessVersions].filter(([each]) => `${each}.`.startsWith(`${asked}.`));
    if (engine !== 'aurora-postgresql' || found.length === 0) {
      throw new AwsError(400, 'InvalidParameterCombination', `Cannot find version ${asked} for ${engine}`);
    }
    const options = (instanceClass === 'db.serverless' ? found : []).map(([version, dataApi]) => {
      const option = { Engine: engine, EngineVersion: version, DBInstanceClass: instanceClass as string };
      return `<OrderableDBInstanceOption>${elements({ ...option, SupportsHttpEndpoint: String(dataApi) })}</OrderableDBInstanceOption>`;
    });
    return `<OrderableDBInstanceOptions>${options.join('')}</OrderableDBInstanceOptions>`;
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
