import { isDeepStrictEqual } from 'node:util';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Stack } from './assembly.ts';
import type { Deployment } from './deployment.ts';
import { list, type Resource, type ResourceDeclaration, record, type Template } from './template.ts';

/** One resource of an update. */
export interface UpdateStep {
  readonly action: 'put' | 'delete';
  readonly stackName: string;
  readonly logicalId: string;
  readonly type: string;
  /** All stacks as they are after this step. */
  readonly stacks: readonly Stack[];
}

type Resources = Readonly<Record<string, ResourceDeclaration>>;

/**
 * The steps by which CloudFormation brings running stacks to other templates, one resource at a time: stack after stack, in each
 * what is new or changed, by dependency, and at last what the template has no more. Until its step a resource stays as it was.
 *
 * @throws UnsupportedTemplateError when a stack is missing in `after`
 */
export function* updateSteps(before: readonly Stack[], after: readonly Stack[]): Generator<UpdateStep, void, void> {
  const gone = before.find(({ name }) => !after.some((stack) => stack.name === name));
  if (gone) throw new UnsupportedTemplateError(gone.name, 'an update that takes a stack away cannot be run locally');
  const running = new Map(before.map((stack) => [stack.name, stack]));
  for (const next of after) {
    const { name: stackName, template: target } = next;
    const old = running.get(stackName);
    const { Resources: former = {}, Outputs: formerOutputs = {} } = old?.template ?? {};
    const resources: Record<string, ResourceDeclaration> = { ...former };
    const advance = (
      action: UpdateStep['action'],
      logicalId: string,
      type: string,
      outputs: Template['Outputs'] = {},
    ) => {
      const template: Template = {
        ...target,
        Parameters: { ...old?.template.Parameters, ...target.Parameters },
        Conditions: { ...old?.template.Conditions, ...target.Conditions },
        Mappings: { ...old?.template.Mappings, ...target.Mappings },
        Resources: { ...resources },
        Outputs: outputs,
      };
      running.set(stackName, { ...next, template, assets: new Map([...(old?.assets ?? []), ...next.assets]) });
      return { action, stackName, logicalId, type, stacks: [...running.values()] };
    };
    const wanted = target.Resources ?? {};
    for (const [logicalId, declaration] of byDependency(wanted)) {
      const isChanged = !isSame(former[logicalId], declaration);
      resources[logicalId] = declaration;
      if (isChanged) yield advance('put', logicalId, declaration.Type, formerOutputs);
    }
    for (const [logicalId, { Type: type }] of byDependency(former).reverse()) {
      if (logicalId in wanted) continue;
      delete resources[logicalId];
      yield advance('delete', logicalId, type, target.Outputs);
    }
    running.set(stackName, next);
  }
}

/** Metadata, policies of deletion and the order of dependencies change nothing that runs. */
function isSame(one: ResourceDeclaration | undefined, other: ResourceDeclaration): boolean {
  const text = (declaration: ResourceDeclaration | undefined) =>
    declaration && JSON.stringify([declaration.Type, declaration.Properties, declaration.Condition]);
  return text(one) === text(other);
}

/** Each resource after those that it refers to or waits for, otherwise in the order of the template. */
function byDependency(resources: Resources): [string, ResourceDeclaration][] {
  const ordered = new Map<string, ResourceDeclaration>();
  const visited = new Set<string>();
  const visit = (logicalId: string) => {
    const declaration = resources[logicalId];
    if (!declaration || visited.has(logicalId)) return;
    visited.add(logicalId);
    for (const id of [...list(declaration.DependsOn).map(String), ...references(declaration.Properties)]) visit(id);
    ordered.set(logicalId, declaration);
  };
  for (const logicalId of Object.keys(resources)) visit(logicalId);
  return [...ordered];
}

/** What may be the logical id of a resource in the functions of a value. */
function references(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { Ref: ref, 'Fn::GetAtt': attribute, 'Fn::Sub': substitution } = record(value);
  const [template] = list(substitution);
  const named = [ref, Array.isArray(attribute) ? attribute[0] : attribute].flatMap((name) =>
    typeof name === 'string' ? [name] : [],
  );
  const inText = typeof template === 'string' ? template.matchAll(/\$\{([^!}][^}]*)\}/g) : [];
  const names = [...named, ...[...inText].map(([, name = '']) => name)].map((name) => name.split('.')[0] ?? name);
  return [...names, ...Object.values(value).flatMap(references)];
}

/** Types whose resources live on through an update and are made at a start only. */
const fixedTypes = [
  /^AWS::RDS::DBCluster$/,
  /^AWS::SecretsManager::(Secret|SecretTargetAttachment)$/,
  /^AWS::WAFv2::WebACL(Association)?$/,
  /^AWS::ApiGateway::RestApi$/,
];
/** Properties of a cluster that do nothing here while it runs: static parameters wait for a restart, and there is one PostgreSQL. */
const clusterProperties: ReadonlySet<string> = new Set(['DBClusterParameterGroupName', 'EngineVersion']);
/** Types whose resources an update does not take away here, because they hold data. */
const keptTypes = /^AWS::(S3::Bucket|SQS::Queue|KMS::Key)$/;

/**
 * Refuse an update that would come out differently on AWS: one that replaces a resource or changes its type, and one of a
 * resource that the engine makes at a start only.
 *
 * @throws UnsupportedTemplateError that names the resource
 */
export function checkUpdate(steps: readonly UpdateStep[], before: Deployment, after: Deployment): void {
  for (const { action, stackName, logicalId, type } of steps) {
    const where = `${stackName}/${logicalId}`;
    const find = (deployment: Deployment) =>
      deployment.resourcesOf(stackName).find((resource) => resource.logicalId === logicalId);
    const [old, next] = [find(before), find(after)];
    if (old && next && (old.type !== next.type || old.id !== next.id)) {
      throw new UnsupportedTemplateError(where, 'an update that replaces it cannot be run locally');
    }
    if (
      type === 'AWS::RDS::DBCluster' &&
      old &&
      next &&
      differences(old, next).every((name) => clusterProperties.has(name))
    ) {
      continue;
    }
    if (fixedTypes.some((fixed) => fixed.test(type)) || (action === 'delete' && keptTypes.test(type))) {
      throw new UnsupportedTemplateError(where, `an update that ${action}s ${type} cannot be run locally`);
    }
  }
}

/** Names of the properties that two resources do not share. */
function differences(one: Resource, other: Resource): readonly string[] {
  const names = [...new Set([...one.propertyNames, ...other.propertyNames])];
  return names.filter((name) => !isDeepStrictEqual(one.property(name), other.property(name)));
}
