import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { NotFoundError } from '../errors.ts';
import type { AwsClientOptions } from './aws-client-options.ts';
import { errorName, storeFailure } from './aws-failure.ts';

/**
 * Outputs of deployed stacks, all in one object, and the region they were found in. For the operator's tool: no function
 * asks for a stack.
 *
 * @throws NotFoundError when one of the stacks is not there
 */
export async function readStackOutputs(
  stackNames: readonly string[],
  options: AwsClientOptions = {},
): Promise<{ readonly outputs: Readonly<Record<string, string | undefined>>; readonly region: string }> {
  const client = new CloudFormationClient(options);
  const found: Record<string, string> = {};
  for (const stackName of stackNames) Object.assign(found, await outputsOf(client, stackName));
  return { outputs: found, region: await client.config.region() };
}

async function outputsOf(client: CloudFormationClient, stackName: string): Promise<Record<string, string>> {
  try {
    const { Stacks: stacks } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    const pairs = stacks?.[0]?.Outputs?.map(
      ({ OutputKey: key = '', OutputValue: value = '' }) => [key, value] as const,
    );
    return Object.fromEntries(pairs ?? []);
  } catch (error) {
    // CloudFormation has no error of its own for this: an unknown name is a validation error.
    if (errorName(error) === 'ValidationError') throw new NotFoundError(`there is no stack ${stackName}`);
    throw storeFailure(error, 'CloudFormation');
  }
}
