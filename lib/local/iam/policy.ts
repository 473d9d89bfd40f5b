import { UnsupportedTemplateError } from '../errors.ts';
import { list, record } from '../template/template.ts';

/** One statement of an identity's policy, or of a resource's policy that applies to every caller. */
export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  readonly actions: readonly RegExp[];
  readonly resources: readonly RegExp[];
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly key: string;
  readonly matches: (value: string | undefined) => boolean;
}

/** One permission that a call needs. */
export interface Permission {
  /** `service:Action`. */
  readonly action: string;
  /** ARN. */
  readonly resource: string;
  /** Condition keys of the request that policies may look at. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * Read a policy document.
 *
 * @param where names the policy, for errors.
 * @throws UnsupportedTemplateError for a form that would be evaluated wrongly here.
 */
export function parsePolicy(document: unknown, where: string): readonly Statement[] {
  return list(record(document).Statement).map((entry) => {
    const statement = record(entry);
    const { Effect: effect, Action: action, Resource: resource, Condition: conditions } = statement;
    if ((effect !== 'Allow' && effect !== 'Deny') || action === undefined || resource === undefined) {
      throw new UnsupportedTemplateError(where, 'a policy statement needs Effect, Action and Resource');
    }
    return {
      effect,
      actions: list(action).map((pattern) => glob(String(pattern), 'i')),
      resources: list(resource).map((pattern) => glob(String(pattern))),
      conditions: Object.entries(record(conditions)).flatMap(([operator, tests]) =>
        Object.entries(record(tests)).map(([key, values]) => condition(operator, key, list(values).map(String), where)),
      ),
    };
  });
}

/**
 * Read the policy of a resource. All callers here belong to one account, where an identity's own policy is enough to
 * allow a call. So a resource's policy can only deny.
 *
 * @throws UnsupportedTemplateError for a statement that allows, or that names principals.
 */
export function parseDenials(document: unknown, where: string): readonly Statement[] {
  for (const entry of list(record(document).Statement)) {
    const { Effect: effect, Principal: principal } = record(entry);
    if (effect !== 'Deny' || (principal !== '*' && record(principal).AWS !== '*')) {
      throw new UnsupportedTemplateError(
        where,
        'a resource policy that does more than deny every caller cannot be evaluated locally',
      );
    }
  }
  return parsePolicy(document, where);
}

/** Whether the statements allow a call: some statement allows it and none denies it. */
export function isAllowed(statements: readonly Statement[], permission: Permission): boolean {
  const applying = statements.filter((statement) => applies(statement, permission));
  return (
    applying.some((statement) => statement.effect === 'Allow') &&
    !applying.some((statement) => statement.effect === 'Deny')
  );
}

/** Statements of an operator who may do everything. */
export const fullAccess: readonly Statement[] = [{ effect: 'Allow', actions: [/^/], resources: [/^/], conditions: [] }];

function applies(statement: Statement, { action, resource, context = {} }: Permission): boolean {
  return (
    statement.actions.some((pattern) => pattern.test(action)) &&
    statement.resources.some((pattern) => pattern.test(resource)) &&
    statement.conditions.every(({ key, matches }) => matches(context[key.toLowerCase()]))
  );
}

function condition(operator: string, key: string, values: readonly string[], where: string): Condition {
  const [, all, name = '', optional] = /^(ForAllValues:)?(.*?)(IfExists)?$/.exec(operator) ?? [];
  const test = operators[name];
  if (!test) throw new UnsupportedTemplateError(where, `policy condition ${operator} cannot be evaluated locally`);
  // IAM user guide, condition operators: a negated one, or one for all values, holds where the request has no such key.
  // Requests have one value for a key here.
  const absent = all !== undefined || optional !== undefined || /Not(?:Equals|Like)$/.test(name);
  return { key, matches: (value) => (value === undefined ? absent : test(value, values)) };
}

type Operator = (value: string, expected: readonly string[]) => boolean;
const equals: Operator = (value, expected) => expected.includes(value);
const like: Operator = (value, expected) => expected.some((pattern) => glob(pattern).test(value));

const operators: Readonly<Record<string, Operator>> = {
  Bool: equals,
  ArnEquals: like,
  ArnLike: like,
  ArnNotEquals: (value, expected) => !like(value, expected),
  StringEquals: equals,
  StringLike: like,
  StringNotEquals: (value, expected) => !equals(value, expected),
};

/** A pattern of a policy: `*` stands for any text, `?` for one character. */
export function glob(pattern: string, flags = ''): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[\\s\\S]*')
    .replaceAll('?', '[\\s\\S]');
  return new RegExp(`^${source}$`, flags);
}
