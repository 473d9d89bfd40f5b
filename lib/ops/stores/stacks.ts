import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
} from '@aws-sdk/client-cloudformation';
import { NotFoundError } from '../../errors.ts';
import { errorName, storeFailure } from '../../service/stores/aws-failure.ts';
import { type AwsClientOptions, forOperators } from '../../service/stores/clients.ts';

/** Neither the options, the environment nor the shared configuration files name a valid region. */
export class MissingRegionError extends Error {
  override get name(): string {
    return 'MissingRegionError';
  }
}

/**
 * Outputs of deployed stacks, all in one object, and the region they were found in. For the operator's tool; functions
 * do not use it.
 *
 * @param signal ends the wait for CloudFormation
 * @throws NotFoundError when one of the stacks is not there
 * @throws MissingRegionError
 */
export async function readStackOutputs(
  stackNames: readonly string[],
  options: AwsClientOptions = {},
  signal?: AbortSignal,
): Promise<{ readonly outputs: Readonly<Record<string, string | undefined>>; readonly region: string }> {
  const client = new CloudFormationClient({ ...forOperators, ...options });
  const region = await client.config.region().catch((cause: unknown) => {
    throw new MissingRegionError('no usable AWS region', { cause });
  });
  const found: Record<string, string> = {};
  for (const stackName of stackNames) Object.assign(found, await outputsOf(client, stackName, region, signal));
  return { outputs: found, region };
}

async function outputsOf(
  client: CloudFormationClient,
  stackName: string,
  region: string,
  signal: AbortSignal | undefined,
): Promise<Record<string, string>> {
  try {
    const { Stacks: stacks } = await client.send(
      new DescribeStacksCommand({ StackName: stackName }),
      signal === undefined ? {} : { abortSignal: signal },
    );
    const pairs = stacks?.[0]?.Outputs?.map(
      ({ OutputKey: key = '', OutputValue: value = '' }) => [key, value] as const,
    );
    return Object.fromEntries(pairs ?? []);
  } catch (error) {
    // CloudFormation has no error of its own for this: an unknown name is a validation error.
    if (errorName(error) === 'ValidationError')
      throw new NotFoundError(
        `there is no stack ${stackName} in ${region}: look at --stage, --region and AWS_PROFILE, or deploy it`,
      );
    throw storeFailure(error, `CloudFormation in ${region}`);
  }
}

/** A resource of a deployed stack. */
export interface StackResource {
  readonly logicalId: string;
  /** Such as `AWS::SNS::Topic`. */
  readonly type: string;
  /** Name or ARN, as `Ref` gives it. */
  readonly physicalId: string;
}

/** All resources of a deployed stack. For the operator's tools; functions do not use it. */
export async function stackResources(stackName: string, options: AwsClientOptions): Promise<readonly StackResource[]> {
  const client = new CloudFormationClient(options);
  const found: StackResource[] = [];
  try {
    for await (const page of paginateListStackResources({ client }, { StackName: stackName })) {
      for (const { LogicalResourceId, ResourceType, PhysicalResourceId } of page.StackResourceSummaries ?? []) {
        if (!LogicalResourceId || !ResourceType || !PhysicalResourceId) continue;
        found.push({ logicalId: LogicalResourceId, type: ResourceType, physicalId: PhysicalResourceId });
      }
    }
    return found;
  } catch (error) {
    throw storeFailure(error, 'CloudFormation');
  }
}
