import { UnsupportedTemplateError } from '../errors.ts';
import { list, record } from '../template/template.ts';

/** Values of a request's condition keys. The keys are in lower case. */
export type RequestContext = Readonly<Record<string, string>>;

/** Whether a request meets one condition of a statement. */
export type Condition = (context: RequestContext) => boolean;

/** The keys whose values a call has here wherever it has them on AWS. */
const knownKeys: ReadonlySet<string> = new Set([
  ...['aws:principalarn', 'aws:principalisawsservice', 'aws:securetransport'],
  ...['events:source', 'events:detail-type', 's3:prefix', 's3:tlsversion', 'kms:viaservice'],
  ...['s3:arn', 'sqs:arn'].map((key) => `kms:encryptioncontext:aws:${key}`),
  'kms:encryptioncontext:secretarn',
]);

/**
 * Read the `Condition` of a statement.
 *
 * @throws UnsupportedTemplateError for an operator or a key that would be evaluated wrongly here
 */
export function parseConditions(conditions: unknown, where: string): readonly Condition[] {
  return Object.entries(record(conditions)).flatMap(([operator, tests]) =>
    Object.entries(record(tests)).map(([key, values]) => condition(operator, key, list(values).map(String), where)),
  );
}

function condition(operator: string, name: string, expected: readonly string[], where: string): Condition {
  const [, all, operation = ''] = /^(ForAllValues:)?(.*)$/.exec(operator) ?? [];
  const test = operators[operation];
  const key = name.toLowerCase();
  if (!test) throw new UnsupportedTemplateError(where, `policy condition ${operator} cannot be evaluated locally`);
  if (!knownKeys.has(key)) {
    throw new UnsupportedTemplateError(where, `condition key ${name} cannot be evaluated locally`);
  }
  refuseVariables(expected, where);
  // IAM user guide, condition operators: a negated one, or one for all values, holds where the request has no such key.
  // Requests have one value for a key here.
  const absent = all !== undefined || /Not(?:Equals|Like)$/.test(operation);
  return ({ [key]: value }) => (value === undefined ? absent : test(value, expected));
}

/** @throws UnsupportedTemplateError for a policy variable, such as `${aws:username}` */
export function refuseVariables(patterns: readonly string[], where: string): void {
  const variable = patterns.find((pattern) => pattern.includes('$' + '{'));
  if (variable === undefined) return;
  throw new UnsupportedTemplateError(where, `the policy variable in ${variable} cannot be evaluated locally`);
}

type Operator = (value: string, expected: readonly string[]) => boolean;
const equals: Operator = (value, expected) => expected.includes(value);
const like: Operator = (value, expected) => expected.some((pattern) => glob(pattern).test(value));

/** Compare ARNs part by part: no wildcard reaches over the colon before the resource. */
const arnLike: Operator = (value, expected) => {
  const parts = (arn: string) => /^([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):(.*)$/s.exec(arn)?.slice(1);
  const given = parts(value);
  return expected.some((pattern) => parts(pattern)?.every((part, at) => glob(part).test(given?.[at] ?? '')) ?? false);
};

const operators: Readonly<Record<string, Operator>> = {
  Bool: equals,
  ArnEquals: arnLike,
  ArnLike: arnLike,
  ArnNotEquals: (value, expected) => !arnLike(value, expected),
  ArnNotLike: (value, expected) => !arnLike(value, expected),
  NumericLessThan: (value, expected) => expected.some((limit) => Number(value) < Number(limit)),
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
