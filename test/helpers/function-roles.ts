import type { CloudAssembly } from 'aws-cdk-lib/cx-api';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';
import { grantText } from '../../lib/local/iam/access.ts';
import type { Statement } from '../../lib/local/iam/policy.ts';
import { statementsOfRole } from '../../lib/local/iam/roles.ts';
import { type Deployment, deploy } from '../../lib/local/template/deployment.ts';
import type { Resource, Template } from '../../lib/local/template/template.ts';
import { remembered } from './synthesized.ts';

/** A bucket with archived bodies that the operator had before, under a key of the operator's own. */
export const otherBucket = {
  bucketName: 'archive-of-2019',
  keyArn: 'arn:aws:kms:eu-north-1:000000000000:key/archive-of-2019',
} as const;

/** The settings that widen roles, each by the name under which the table shows it. */
export const widening: Readonly<Record<string, Partial<Settings>>> = {
  "withdrawal: 'purge'": { withdrawal: 'purge' },
  "events: 'on'": { events: 'on' },
  otherArchiveBuckets: { otherArchiveBuckets: [otherBucket] },
  'receiptKeys: 2': { receiptKeys: 2 },
};

/** All of them together. */
export const widest: Partial<Settings> = Object.assign({}, ...Object.values(widening));

/** What one function may do, in one deployment. */
export interface FunctionRole {
  /** Construct id, such as `StageFile`. */
  readonly name: string;
  /** ARN. */
  readonly role: string;
  readonly statements: readonly Statement[];
}

/** One grant of a function: an action on a resource, under a condition. */
export interface Grant {
  readonly name: string;
  readonly role: string;
  readonly statement: Statement;
  /** The setting that it comes with. @default - it exists by default */
  readonly setting?: string;
}

/** The stacks with a change of the settings. Nothing is bundled. */
export function synthesize(change: Partial<Settings> = {}): CloudAssembly {
  const app = templateApp({ context: { 'aws:cdk:enable-path-metadata': true } });
  addStacks(app, { ...settings, adminPage: true, ...change });
  return app.synth();
}

/** The same, as the local engine names their resources. */
export function deploymentOf(change: Partial<Settings> = {}): Deployment {
  const byDependency = remembered(`of roles ${JSON.stringify({ ...settings, ...change })}`, () =>
    synthesize(change)
      .stacks.toSorted((one, other) => one.dependencies.length - other.dependencies.length)
      .map(({ stackName, template }) => ({ name: stackName, template: template as Template })),
  );
  const stacks = byDependency.map((stack) => ({ ...stack, region: undefined, assets: new Map<string, string>() }));
  return deploy(stacks, { queueUrl: (name) => `https://sqs.invalid/${name}`, apiUrl: (id) => `https://${id}` });
}

/** The functions of the service. Those of the CDK, which serve CloudFormation alone, are left out. */
export function rolesOf(deployment: Deployment): readonly FunctionRole[] {
  return deployment
    .resources('AWS::Lambda::Function')
    .filter(({ path }) => path.endsWith('/Function/Resource'))
    .map((resource) => {
      const role = String(resource.property('Role'));
      const statements = statementsOfRole(role, 'lambda.amazonaws.com', deployment);
      return { name: nameOf(resource), role, statements };
    })
    .sort((one, other) => one.name.localeCompare(other.name));
}

function nameOf({ path }: Resource): string {
  return path.split('/').at(-3) ?? path;
}

/**
 * The grants of all functions: those by default, and those that each of {@link widening} adds.
 *
 * @returns them with a deployment that has all resources they name
 */
export function allGrants(): { readonly grants: readonly Grant[]; readonly deployment: Deployment } {
  const grants = new Map<string, Grant>();
  const add = (roles: readonly FunctionRole[], setting?: string) => {
    for (const { name, role, statements } of roles) {
      for (const statement of statements) {
        const key = `${role} ${grantText(statement)}`;
        if (!grants.has(key)) grants.set(key, { name, role, statement, ...(setting !== undefined && { setting }) });
      }
    }
  };
  add(rolesOf(deploymentOf()));
  for (const [setting, change] of Object.entries(widening)) add(rolesOf(deploymentOf(change)), setting);
  return { grants: [...grants.values()], deployment: deploymentOf(widest) };
}
