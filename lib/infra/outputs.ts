import { CfnOutput, type Stack } from 'aws-cdk-lib';
import { outputs } from '../contract/outputs.ts';

/** Add outputs to a stack. One without a value is left out. */
export function addOutputs(
  stack: Stack,
  values: { readonly [name in keyof typeof outputs]?: string | undefined },
): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) new CfnOutput(stack, outputs[name as keyof typeof outputs], { value });
  }
}
