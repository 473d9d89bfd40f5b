import type { BufferedService, JsonObject } from '../endpoint/buffered-service.ts';
import { AwsError, escapeXml } from '../endpoint/errors.ts';
import { flag, parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import type { Deployment } from '../template/deployment.ts';

/** Whether each database cluster of the template is protected against deletion, by its ARN. */
export function protectedClusters(deployment: Deployment): Map<string, boolean> {
  const clusters = deployment.resources('AWS::RDS::DBCluster');
  return new Map(
    clusters.map((cluster) => [cluster.attribute('DBClusterArn'), cluster.property('DeletionProtection') === true]),
  );
}

/** RDS, as far as this service uses it: `ModifyDBCluster` with `DeletionProtection`. */
export function rds(clusters: Map<string, boolean>): BufferedService {
  const action = 'ModifyDBCluster';
  const arnOf = (input: JsonObject) => {
    const identifier = String(input.DBClusterIdentifier);
    const arn = [...clusters.keys()].find((known) => known.split(':')[6] === identifier.toLowerCase());
    if (!arn) throw new AwsError(404, 'DBClusterNotFoundFault', `DBCluster ${identifier} not found.`);
    return arn;
  };
  return {
    parse(_path, _headers, body) {
      const input = parseQuery(body, action, '2014-10-31', ['DBClusterIdentifier', 'DeletionProtection']);
      return { action, input, permissions: [{ action: `rds:${action}`, resource: arnOf(input) }] };
    },
    async handle(_action, input) {
      const arn = arnOf(input);
      const on = flag(input, 'DeletionProtection');
      clusters.set(arn, on);
      const members = { DBClusterIdentifier: arn.split(':')[6], DBClusterArn: arn, DeletionProtection: String(on) };
      const xml = Object.entries(members).map(([name, value = '']) => `<${name}>${escapeXml(value)}</${name}>`);
      return queryReply(action, 'http://rds.amazonaws.com/doc/2014-10-31/', `<DBCluster>${xml.join('')}</DBCluster>`);
    },
  };
}
