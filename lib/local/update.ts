import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type RestApi, readApis } from './api-gateway/model.ts';
import type { AccessControl } from './iam/access.ts';
import type { Credentials } from './iam/credentials.ts';
import { ResourcePolicies } from './iam/resource-policies.ts';
import { statementsOfSession } from './iam/roles.ts';
import type { EventSources } from './lambda/event-sources.ts';
import { type DefinitionContext, defineFunction, functionsOf } from './lambda/function-definition.ts';
import { type Functions, runTrigger } from './lambda/functions.ts';
import type { Schedules } from './lambda/schedules.ts';
import { restrictsPasswords } from './rds-data/password-restriction.ts';
import { loadAssembly } from './template/assembly.ts';
import type { Deployment, RunningDeployment } from './template/deployment.ts';
import { checkUpdate, type UpdateStep, updateSteps } from './template/update.ts';

/** The parts of a running engine that an update changes. */
export interface RunningParts {
  readonly deployment: RunningDeployment;
  readonly functions: Functions;
  readonly context: DefinitionContext;
  readonly credentials: Credentials;
  readonly access: AccessControl;
  readonly sources: EventSources;
  readonly schedules: Schedules;
  /** Serve an API as it is described now. */
  serve(api: RestApi): void;
  /** Read which customer key is whose, and make new signing keys. */
  readKeys(): void;
  /** Bring queues and buckets to what the template says now. */
  createQueues(): Promise<void>;
  createBuckets(): void;
}

/** Policies, and what they or keys are about. */
const authorityTypes =
  /^AWS::(IAM::(Role|Policy|ManagedPolicy)|KMS::Key|S3::Bucket(Policy)?|SQS::Queue(Policy)?|SecretsManager::ResourcePolicy)$/;

/** @see Engine.update */
export async function* update(parts: RunningParts, assemblyDir: string): AsyncGenerator<UpdateStep, void, void> {
  const { deployment } = parts;
  const target = loadAssembly(assemblyDir);
  const after = deployment.preview(target);
  const steps = [...updateSteps(deployment.stacks, target)];
  checkUpdate(steps, deployment, after);
  // Of use at the next start, but refused now.
  restrictsPasswords(after);
  // CloudFormation removes what it replaced at the end, so a role that gets another ARN serves its sessions until then.
  const former = deployment.preview(deployment.stacks);
  const tasksDir = mkdtempSync(join(parts.context.tasksDir, 'update-'));
  for (const step of steps) {
    const before = deployment.preview(deployment.stacks);
    deployment.moveTo(step.stacks);
    await apply(step, { former, before, after }, { ...parts, context: { ...parts.context, tasksDir } });
    yield step;
  }
  deployment.moveTo(target);
  parts.credentials.update((role) => statementsOfSession(role, deployment));
  // A rule may not call its function before the permission, which comes after both.
  parts.schedules.update(deployment);
}

/** Make one step true. A type that is not named here has no separate effect. */
async function apply(
  { action, stackName, logicalId, type }: UpdateStep,
  { former, before, after }: Readonly<Record<'former' | 'before' | 'after', Deployment>>,
  parts: RunningParts,
): Promise<void> {
  const { deployment, functions } = parts;
  const isMeant = (resource: { stackName: string; logicalId: string }) =>
    resource.stackName === stackName && resource.logicalId === logicalId;
  if (authorityTypes.test(type)) {
    parts.access.update(new ResourcePolicies(deployment));
    parts.credentials.update((role) => {
      const isThere = deployment.resources('AWS::IAM::Role').some((one) => one.attribute('Arn') === role);
      return statementsOfSession(role, isThere ? deployment : former);
    });
    parts.readKeys();
  }
  switch (type) {
    case 'AWS::Lambda::Function': {
      const present = functionsOf(deployment).find(isMeant);
      if (present) functions.put(defineFunction(present, parts.context));
      else functions.remove(before.resources(type).find(isMeant)?.attribute('Arn') ?? '');
      break;
    }
    case 'AWS::SQS::Queue':
      await parts.createQueues();
      break;
    case 'AWS::S3::Bucket':
      parts.createBuckets();
      break;
    case 'AWS::Lambda::EventSourceMapping':
      parts.sources.update(deployment);
      break;
    case 'AWS::ApiGateway::Stage':
      // A change of routes comes with a new deployment, which the stage names. It is made before removals, so it keeps their routes.
      for (const api of readApis(deployment, after)) {
        const stage = deployment.resources(type).find(isMeant);
        if (stage?.property('RestApiId') === api.id) parts.serve(api);
      }
      break;
    case 'Custom::Trigger': {
      const trigger = deployment.resources(type).find(isMeant);
      if (trigger && action === 'put') await runTrigger(trigger, functions);
      break;
    }
  }
}
