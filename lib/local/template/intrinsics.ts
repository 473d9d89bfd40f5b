import { UnsupportedTemplateError } from '../errors.ts';
import { record } from './template.ts';

/** What the intrinsic functions of one stack refer to. */
export interface Scope {
  /** Names the stack, for errors. */
  readonly where: string;
  ref(name: string): string | undefined;
  attribute(logicalId: string, attribute: string): string;
  /** Value of an output of another stack. */
  stackOutput(stackName: string, outputName: string): string;
  /** Called for every string that a function puts together. */
  finish(value: string): string;
}

/**
 * A template value with its intrinsic functions resolved.
 *
 * @throws UnsupportedTemplateError for an unknown function or reference.
 */
export function resolveValue(value: unknown, scope: Scope): unknown {
  if (Array.isArray(value)) return value.map((item) => resolveValue(item, scope));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [key = '', argument] = entries[0] ?? [];
  if (entries.length === 1 && (key === 'Ref' || key.startsWith('Fn::'))) {
    const intrinsic = intrinsics[key];
    if (intrinsic) return intrinsic(argument, scope);
    throw new UnsupportedTemplateError(scope.where, `${key} is not supported`);
  }
  return Object.fromEntries(entries.map(([name, item]) => [name, resolveValue(item, scope)]));
}

type Intrinsic = (argument: unknown, scope: Scope) => unknown;

const intrinsics: Readonly<Record<string, Intrinsic>> = {
  Ref: (argument, scope) => reference(String(argument), scope),
  'Fn::GetAtt': (argument, scope) => {
    const [logicalId, attribute] = pair(argument, scope);
    return scope.attribute(String(logicalId), String(attribute));
  },
  'Fn::Join': (argument, scope) => {
    const [separator, items] = pair(argument, scope);
    return scope.finish(asList(items, scope).join(String(separator)));
  },
  // As the CDK writes it, in the names of assets.
  'Fn::Sub': (argument, scope) =>
    String(argument).replace(/\$\{([^}]+)\}/g, (_, name: string) => String(reference(name, scope))),
  'Fn::Select': (argument, scope) => {
    const [index, items] = pair(argument, scope);
    const item = asList(items, scope)[Number(index)];
    if (item === undefined) throw new UnsupportedTemplateError(scope.where, 'Fn::Select is out of range');
    return item;
  },
  'Fn::Split': (argument, scope) => {
    const [separator, value] = pair(argument, scope);
    return String(value).split(String(separator));
  },
  'Fn::GetStackOutput': (argument, scope) => {
    const { StackName, OutputName, Region, ...others } = record(resolveValue(argument, scope));
    if ((Region !== undefined && Region !== reference('AWS::Region', scope)) || Object.keys(others).length > 0) {
      throw new UnsupportedTemplateError(scope.where, 'Fn::GetStackOutput reaches into another region or account');
    }
    return scope.stackOutput(String(StackName), String(OutputName));
  },
  'Fn::GetAZs': (_, scope) => ['a', 'b', 'c'].map((zone) => `${String(reference('AWS::Region', scope))}${zone}`),
};

function reference(name: string, scope: Scope): unknown {
  const value = scope.ref(name);
  if (value === undefined) throw new UnsupportedTemplateError(scope.where, `there is no resource ${name}`);
  return value;
}

function pair(argument: unknown, scope: Scope): readonly [unknown, unknown] {
  const [first, second] = asList(resolveValue(argument, scope), scope);
  return [first, second];
}

function asList(value: unknown, scope: Scope): readonly unknown[] {
  if (!Array.isArray(value)) throw new UnsupportedTemplateError(scope.where, 'a list is missing in a function');
  return value;
}
