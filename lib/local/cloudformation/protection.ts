import { randomUUID } from 'node:crypto';
import { AwsError, type AwsReply, escapeXml } from '../endpoint/errors.ts';
import { type JsonObject, type JsonService, parseQuery } from '../endpoint/json-service.ts';
import type { Deployment } from '../template/deployment.ts';

/** What is protected against deletion, by ARN. */
export class Protection {
  /** Termination protection of stacks. */
  readonly stacks: Map<string, boolean>;
  /** Deletion protection of clusters. */
  readonly clusters: Map<string, boolean>;

  /** @param stackIds ARNs of the stacks, which are deployed without termination protection. */
  constructor(deployment: Deployment, stackIds: readonly string[]) {
    this.stacks = new Map(stackIds.map((id) => [id, false]));
    this.clusters = new Map(
      deployment
        .resources('AWS::RDS::DBCluster')
        .map((cluster) => [cluster.attribute('DBClusterArn'), cluster.property('DeletionProtection') === true]),
    );
  }
}

/** CloudFormation, as far as this service uses it: `UpdateTerminationProtection`. */
export function cloudFormation({ stacks }: Protection): JsonService {
  const action = 'UpdateTerminationProtection';
  return {
    parse(_path, _headers, body) {
      const input = parseQuery(body, action, '2010-05-15', ['StackName', 'EnableTerminationProtection']);
      if (!stacks.has(String(input['StackName']))) {
        throw new AwsError(400, 'ValidationError', `Stack [${String(input['StackName'])}] does not exist`);
      }
      return {
        action,
        input,
        permissions: [{ action: `cloudformation:${action}`, resource: String(input['StackName']) }],
      };
    },
    async handle(_action, input) {
      const id = String(input['StackName']);
      stacks.set(id, flag(input, 'EnableTerminationProtection'));
      return reply(
        action,
        'http://cloudformation.amazonaws.com/doc/2010-05-15/',
        `<StackId>${escapeXml(id)}</StackId>`,
      );
    },
  };
}

/** RDS, as far as this service uses it: `ModifyDBCluster` with `DeletionProtection`. */
export function rds({ clusters }: Protection): JsonService {
  const action = 'ModifyDBCluster';
  const arnOf = (input: JsonObject) => {
    const identifier = String(input['DBClusterIdentifier']);
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
      return reply(action, 'http://rds.amazonaws.com/doc/2014-10-31/', `<DBCluster>${xml.join('')}</DBCluster>`);
    },
  };
}

function flag(input: JsonObject, name: string): boolean {
  const value = input[name];
  if (value !== 'true' && value !== 'false')
    throw new AwsError(400, 'ValidationError', `${name} must be true or false`);
  return value === 'true';
}

function reply(action: string, namespace: string, result: string): AwsReply {
  const requestId = randomUUID();
  return {
    status: 200,
    headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId },
    body:
      `<${action}Response xmlns="${namespace}"><${action}Result>${result}</${action}Result>` +
      `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata></${action}Response>`,
  };
}
