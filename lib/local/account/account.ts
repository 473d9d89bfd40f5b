import { type BufferedService, queryService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import type { Stack } from '../template/assembly.ts';
import type { Deployment } from '../template/deployment.ts';
import { stackId } from '../template/names.ts';

/** Whether each deployed stack and each cluster is protected against deletion, by ARN. A test may change it at any time. */
export interface DeletionProtection {
  readonly protectedStacks: Map<string, boolean>;
  readonly protectedClusters: Map<string, boolean>;
}

/** The services that answer about the deployment itself, by their names in a signature's scope. */
export function accountServices(stacks: readonly Stack[], deployment: Deployment) {
  const protection: DeletionProtection = {
    // Stacks are deployed without it.
    protectedStacks: new Map(stacks.map(({ name }) => [stackId(name, deployment.region), false])),
    protectedClusters: new Map(
      deployment
        .resources('AWS::RDS::DBCluster')
        .map((cluster) => [cluster.attribute('DBClusterArn'), cluster.property('DeletionProtection') === true]),
    ),
  };
  const services = { cloudformation: cloudFormation(stacks, deployment, protection), rds: rds(protection) };
  return { protection, services };
}

/** CloudFormation, as far as this service and its tools use it: one stack. */
function cloudFormation(
  stacks: readonly Stack[],
  deployment: Deployment,
  { protectedStacks }: DeletionProtection,
): BufferedService {
  const createdAt = new Date().toISOString();
  /** A stack that is named by its ARN, or by its name. */
  const stackOf = (nameOrArn = '') => {
    const found = stacks.find(({ name }) => [name, stackId(name, deployment.region)].includes(nameOrArn));
    if (found) return { ...found, arn: stackId(found.name, deployment.region) };
    // CloudFormation has no separate error for this.
    throw new AwsError(400, 'ValidationError', `Stack with id ${nameOrArn} does not exist`);
  };
  const resource = ({ StackName: name }: Readonly<Record<string, string>>) => stackOf(name).arn;
  return queryService(
    { namespace: 'http://cloudformation.amazonaws.com/doc/2010-05-15/', prefix: 'cloudformation' },
    {
      DescribeStacks: {
        parameters: ['StackName'],
        // Also a stack that does not exist needs the right to ask for it.
        resource: ({ StackName: name = '' }) => stackId(name, deployment.region),
        run({ StackName: asked }) {
          const { name, arn, template } = stackOf(asked);
          const all: Readonly<Record<string, string | undefined>> = deployment.outputs();
          const Outputs = Object.keys(template.Outputs ?? {}).flatMap((key) =>
            all[key] === undefined ? [] : [{ member: { OutputKey: key, OutputValue: all[key] } }],
          );
          const member = {
            StackId: arn,
            StackName: name,
            CreationTime: createdAt,
            StackStatus: 'CREATE_COMPLETE',
            Outputs,
          };
          return { Stacks: { member } };
        },
      },
      UpdateTerminationProtection: {
        parameters: ['StackName', 'EnableTerminationProtection'],
        resource,
        run({ StackName: name, EnableTerminationProtection: on }) {
          const { arn } = stackOf(name);
          protectedStacks.set(arn, on === 'true');
          return { StackId: arn };
        },
      },
    },
  );
}

/** RDS, as far as this service uses it: the protection of a cluster, by its ARN or identifier. */
function rds({ protectedClusters }: DeletionProtection): BufferedService {
  const clusterOf = (identifier = '') => {
    for (const arn of protectedClusters.keys()) {
      const name = arn.split(':')[6] ?? '';
      if (arn === identifier || name === identifier.toLowerCase()) return { arn, name };
    }
    throw new AwsError(404, 'DBClusterNotFoundFault', `DBCluster ${identifier} not found.`);
  };
  return queryService(
    { namespace: 'http://rds.amazonaws.com/doc/2014-10-31/', prefix: 'rds' },
    {
      ModifyDBCluster: {
        parameters: ['DBClusterIdentifier', 'DeletionProtection'],
        resource: ({ DBClusterIdentifier: identifier }) => clusterOf(identifier).arn,
        run({ DBClusterIdentifier: identifier, DeletionProtection: on }) {
          const { arn, name } = clusterOf(identifier);
          protectedClusters.set(arn, on === 'true');
          const names = { DBClusterIdentifier: name, DBClusterArn: arn };
          return { DBCluster: { ...names, DeletionProtection: on === 'true' } };
        },
      },
    },
  );
}
