import { EngineError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { type Resource, text } from '../template/template.ts';
import type { Functions } from './functions.ts';

/**
 * Invoke the functions that run once at deployment, in template order: the CDK writes them by dependency. A failure
 * would roll a deployment back, so the engine does not start.
 */
export async function runTriggers(deployment: Deployment, functions: Functions): Promise<void> {
  for (const trigger of deployment.resources('Custom::Trigger')) {
    await runTrigger(trigger, functions);
  }
}

/** @throws EngineError when the function fails */
export async function runTrigger(trigger: Resource, functions: Functions): Promise<void> {
  const { name, arn } = functions.definition(text(trigger, 'HandlerArn'));
  const result = await functions.invoke(arn, {});
  if (!result.ok) {
    throw new EngineError(`${name} failed: ${result.error.errorType}: ${result.error.errorMessage}`);
  }
}
