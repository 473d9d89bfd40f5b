import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DataOutError } from '../../errors.ts';
import { errorName, storeFailure } from '../../service/stores/aws-failure.ts';
import { type AwsClientOptions, forOperators } from '../../service/stores/clients.ts';
import { usageError } from '../../terminal/errors.ts';

/**
 * Outputs of deployed stacks, all in one object, and the region they were found in.
 * @param signal ends the wait for CloudFormation
 * @throws UsageError when neither options, environment nor configuration files name a valid region
 */
export async function readStackOutputs(
  stackNames: readonly string[],
  options: AwsClientOptions = {},
  signal?: AbortSignal,
): Promise<{ readonly outputs: Readonly<Record<string, string | undefined>>; readonly region: string }> {
  const client = new CloudFormationClient({ ...forOperators, ...options });
  const region = await regionOf(client);
  const found: Record<string, string> = {};
  for (const name of stackNames) {
    const outputs = await outputsOf(client, name, signal && { abortSignal: signal }).catch((error: unknown) => {
      throw storeFailure(error, `CloudFormation in ${region}`);
    });
    if (!outputs) {
      const remedy = 'look at --stage, --region and AWS_PROFILE, or deploy it';
      throw new DataOutError('not_found', `there is no stack ${name} in ${region}: ${remedy}`);
    }
    Object.assign(found, outputs);
  }
  return { outputs: found, region };
}

/** The region that a client works in. @throws UsageError */
export async function regionOf({ config }: { readonly config: { region(): Promise<string> } }): Promise<string> {
  return await config.region().catch(() => {
    throw usageError('--region', 'there is no valid region: say one, or set AWS_REGION');
  });
}

/** Outputs of a stack; `undefined` when there is none. @throws the errors of CloudFormation */
export async function outputsOf(
  client: CloudFormationClient,
  name: string,
  stop: { readonly abortSignal?: AbortSignal } = {},
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: name }), stop);
    const outputs = stack?.Outputs?.map(({ OutputKey: key = '', OutputValue: value = '' }) => [key, value] as const);
    return stack && Object.fromEntries(outputs ?? []);
  } catch (error) {
    // CloudFormation has no separate error for this: an unknown name is a validation error.
    if (errorName(error) === 'ValidationError') return undefined;
    throw error;
  }
}
