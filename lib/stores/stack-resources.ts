import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import type { AwsClientOptions } from './aws-client-options.ts';
import { storeFailure } from './aws-failure.ts';

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
