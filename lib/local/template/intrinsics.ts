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
  condition(name: string): boolean;
  mapping(map: string, first: string, second: string): unknown;
  /** Called for every string that a function puts together. */
  finish(value: string): string;
}

/** Stands for a property that `AWS::NoValue` removes. */
const noValue = Symbol('AWS::NoValue');

/**
 * A template value with its intrinsic functions resolved.
 *
 * @throws UnsupportedTemplateError for an unknown function or reference.
 */
export function resolveValue(value: unknown, scope: Scope): unknown {
  const resolved = resolveAny(value, scope);
  return resolved === noValue ? undefined : resolved;
}

function resolveAny(value: unknown, scope: Scope): unknown {
  if (Array.isArray(value)) return value.map((item) => resolveAny(item, scope)).filter((item) => item !== noValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [key, argument] = entries[0] ?? [];
  if (entries.length === 1 && key !== undefined && (key === 'Ref' || key === 'Condition' || key.startsWith('Fn::'))) {
    const intrinsic = intrinsics[key];
    if (intrinsic) return intrinsic(argument, scope);
    if (key !== 'Condition') throw new UnsupportedTemplateError(scope.where, `${key} is not supported`);
  }
  return Object.fromEntries(
    entries.map(([name, item]) => [name, resolveAny(item, scope)]).filter(([, item]) => item !== noValue),
  );
}

type Intrinsic = (argument: unknown, scope: Scope) => unknown;

const intrinsics: Readonly<Record<string, Intrinsic>> = {
  Ref: (argument, scope) => reference(String(argument), scope),
  'Fn::GetAtt': (argument, scope) => {
    const [logicalId, ...path] = Array.isArray(argument) ? argument.map(String) : String(argument).split('.');
    return scope.attribute(logicalId ?? '', path.join('.'));
  },
  'Fn::Join': (argument, scope) => {
    const [separator, items] = pair(argument, scope);
    return scope.finish(asList(items, scope).join(String(separator)));
  },
  'Fn::Sub': (argument, scope) => {
    const [template, variables] = Array.isArray(argument) ? argument : [argument, {}];
    const own = record(resolveAny(variables, scope));
    const replaced = String(template).replace(/\$\{([^!}][^}]*)\}/g, (_, name: string) => {
      if (name in own) return String(own[name]);
      const [logicalId, ...path] = name.split('.');
      return String(path.length > 0 ? scope.attribute(logicalId ?? '', path.join('.')) : reference(name, scope));
    });
    return scope.finish(replaced.replaceAll('${!', '${'));
  },
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
    const { StackName, OutputName, Region, ...others } = record(resolveAny(argument, scope));
    if ((Region !== undefined && Region !== reference('AWS::Region', scope)) || Object.keys(others).length > 0) {
      throw new UnsupportedTemplateError(scope.where, 'Fn::GetStackOutput reaches into another region or account');
    }
    return scope.stackOutput(String(StackName), String(OutputName));
  },
  'Fn::FindInMap': (argument, scope) => {
    const [map, first, second] = asList(resolveAny(argument, scope), scope).map(String);
    return scope.mapping(map ?? '', first ?? '', second ?? '');
  },
  'Fn::GetAZs': (_, scope) => ['a', 'b', 'c'].map((zone) => `${String(reference('AWS::Region', scope))}${zone}`),
  'Fn::If': (argument, scope) => {
    const [condition, yes, no] = asList(argument, scope);
    return resolveAny(scope.condition(String(condition)) ? yes : no, scope);
  },
};

/** The value of a condition: `Fn::Equals`, `Fn::Not`, `Fn::And`, `Fn::Or` and references to other conditions. */
export function resolveCondition(value: unknown, scope: Scope): boolean {
  const [[key, argument] = []] = Object.entries(record(value));
  switch (key) {
    case 'Fn::Equals': {
      const [left, right] = pair(argument, scope);
      return left === right;
    }
    case 'Fn::Not':
      return !asList(argument, scope).some((item) => resolveCondition(item, scope));
    case 'Fn::And':
      return asList(argument, scope).every((item) => resolveCondition(item, scope));
    case 'Fn::Or':
      return asList(argument, scope).some((item) => resolveCondition(item, scope));
    case 'Condition':
      return scope.condition(String(argument));
    default:
      throw new UnsupportedTemplateError(scope.where, `condition ${key ?? 'without a function'} is not supported`);
  }
}

function reference(name: string, scope: Scope): unknown {
  if (name === 'AWS::NoValue') return noValue;
  const value = scope.ref(name);
  if (value === undefined) throw new UnsupportedTemplateError(scope.where, `there is no parameter or resource ${name}`);
  return value;
}

function pair(argument: unknown, scope: Scope): readonly [unknown, unknown] {
  const [first, second] = asList(resolveAny(argument, scope), scope);
  return [first, second];
}

function asList(value: unknown, scope: Scope): readonly unknown[] {
  if (!Array.isArray(value)) throw new UnsupportedTemplateError(scope.where, 'a list is missing in a function');
  return value;
}
