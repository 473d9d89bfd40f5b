import { UnsupportedTemplateError } from '../errors.ts';
import type { Stack } from './assembly.ts';
import { attributeOf, type Identity } from './attributes.ts';
import { resolveValue, type Scope } from './intrinsics.ts';
import { accountId, defaultRegion, generatedName, nameProperties, stackId } from './names.ts';
import { isKnownType } from './resource-types.ts';
import { type Resource, type ResourceDeclaration, text } from './template.ts';

/** The local addresses that take the place of AWS's own. */
export interface Addresses {
  queueUrl(queueName: string): string;
  /** Base URL of a REST API, without stage and final slash. */
  apiUrl(restApiId: string): string;
}

/** All stacks of an assembly with the names, ARNs and URLs that their resources have on this machine. */
export interface Deployment {
  readonly region: string;
  readonly stacks: readonly Stack[];
  /** Resources of one type, in template order. */
  resources(type: string): readonly Resource[];
  /** Outputs of all stacks by their keys in the template. */
  outputs(): Readonly<Record<string, string>>;
}

/**
 * Resolve the stacks' templates.
 *
 * @throws UnsupportedTemplateError when the engine neither runs a resource's type nor knows that it may ignore it.
 */
export function deploy(stacks: readonly Stack[], addresses: Addresses): Deployment {
  const region = stacks.find((stack) => stack.region !== undefined)?.region ?? defaultRegion;
  const parts = new Map<string, StackPart>();
  for (const stack of stacks) parts.set(stack.name, deployStack(stack, region, addresses, parts));
  const all = [...parts.values()];
  return {
    region,
    stacks,
    resources: (type) => all.flatMap((part) => part.resources.filter((resource) => resource.type === type)),
    outputs: () => {
      const outputs: Record<string, string> = Object.assign({}, ...all.map((part) => part.outputs()));
      const mappings = all.flatMap((part) =>
        part.resources.filter(({ type }) => type === 'AWS::ApiGateway::BasePathMapping'),
      );
      return Object.fromEntries(
        Object.entries(outputs).map(([key, value]) => [key, localUrl(value, mappings, addresses)]),
      );
    },
  };
}

/** A URL of a host name of the operator's own as the URL of its API on this machine. Any other text stays as it is. */
function localUrl(value: string, mappings: readonly Resource[], addresses: Addresses): string {
  const mapping = mappings.find((each) => value === `https://${text(each, 'DomainName')}/`);
  return mapping ? `${addresses.apiUrl(text(mapping, 'RestApiId'))}/${text(mapping, 'Stage')}/` : value;
}

interface StackPart {
  readonly resources: readonly Resource[];
  /** `undefined` when there is no such output. */
  output(key: string): string | undefined;
  outputs(): Record<string, string>;
}

function deployStack(
  stack: Stack,
  region: string,
  addresses: Addresses,
  others: ReadonlyMap<string, StackPart>,
): StackPart {
  const { template } = stack;
  const resources = new Map<string, Resource>();
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::AccountId': accountId,
    'AWS::Partition': 'aws',
    'AWS::Region': region,
    'AWS::StackId': stackId(stack.name, region),
    'AWS::StackName': stack.name,
    'AWS::URLSuffix': 'amazonaws.com',
  };
  const scope: Scope = {
    where: stack.name,
    ref: (name) => pseudo[name] ?? resources.get(name)?.id,
    attribute: (logicalId, attribute) => {
      const resource = resources.get(logicalId);
      if (!resource) throw new UnsupportedTemplateError(stack.name, `there is no resource ${logicalId}`);
      return resource.attribute(attribute);
    },
    stackOutput: (stackName, outputName) => {
      const value = others.get(stackName)?.output(outputName);
      if (value === undefined) {
        throw new UnsupportedTemplateError(stack.name, `no stack ${stackName} with an output ${outputName}`);
      }
      return value;
    },
    finish: (value) =>
      value.replace(/https:\/\/([a-z0-9]{10})\.execute-api\.[a-z0-9-]+\.amazonaws\.com/g, (_, id: string) =>
        addresses.apiUrl(id),
      ),
  };
  for (const [logicalId, declaration] of Object.entries(template.Resources ?? {})) {
    if (!isKnownType(declaration.Type)) {
      throw new UnsupportedTemplateError(`${stack.name}/${logicalId}`, `${declaration.Type} cannot be run locally`);
    }
    resources.set(logicalId, toResource(stack.name, logicalId, declaration, region, scope, addresses));
  }
  const declared = Object.entries(template.Outputs ?? {});
  const values = new Map(declared.map(([key, { Value }]) => [key, () => String(resolveValue(Value, scope))]));
  return {
    resources: [...resources.values()],
    output: (key) => values.get(key)?.(),
    outputs: () => Object.fromEntries([...values].map(([key, value]) => [key, value()])),
  };
}

function toResource(
  stackName: string,
  logicalId: string,
  declaration: ResourceDeclaration,
  region: string,
  stackScope: Scope,
  addresses: Addresses,
): Resource {
  const { Type: type, Properties: properties = {}, Metadata: metadata = {} } = declaration;
  const scope: Scope = { ...stackScope, where: `${stackName}/${logicalId}` };
  const property = (key: string) => resolveValue(properties[key], scope);
  const name = () => {
    const given = property(nameProperties[type] ?? '');
    return given === undefined ? generatedName(stackName, logicalId, type) : String(given);
  };
  const identity = (): Identity => ({ type, name: name(), region, property, queueUrl: addresses.queueUrl });
  const path = metadata['aws:cdk:path'];
  return {
    stackName,
    logicalId,
    type,
    path: typeof path === 'string' ? path : logicalId,
    property,
    get id() {
      return attributeOf(identity(), '') ?? name();
    },
    attribute: (attribute) => {
      const value = attributeOf(identity(), attribute);
      if (value === undefined) {
        throw new UnsupportedTemplateError(scope.where, `attribute ${attribute} of ${type} is not known locally`);
      }
      return value;
    },
  };
}
