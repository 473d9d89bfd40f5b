import { posix } from 'node:path';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, type Resource, record, text, whereOf } from '../template/template.ts';

/** What AWS WAF sees of a request. */
export interface InspectedRequest {
  /** Raw, with the name of the stage. */
  readonly path: string;
  readonly sourceIp: string;
}

interface RateRule {
  readonly limit: number;
  readonly windowMs: number;
  /** Whether the rule counts the request. */
  counts(request: InspectedRequest): boolean;
}

/**
 * The rules on rates of a web ACL. A rule counts each address separately, also the requests that are refused, and looks back
 * over its window. AWS WAF estimates and lags behind by half a minute or so; this counts exactly and at once.
 */
export class WebAcl {
  readonly #rules: readonly (RateRule & { readonly seen: Map<string, number[]> })[];
  readonly #now: () => Date;

  constructor(rules: readonly RateRule[], now: () => Date) {
    this.#rules = rules.map((rule) => ({ ...rule, seen: new Map() }));
    this.#now = now;
  }

  /** Count a request. @returns whether no rule refuses it. A rule after one that refuses does not see the request. */
  admits(request: InspectedRequest): boolean {
    return this.#rules.every(({ counts, limit, windowMs, seen }) => {
      if (!counts(request)) return true;
      const now = this.#now().getTime();
      const recent = (seen.get(request.sourceIp) ?? []).filter((at) => at > now - windowMs);
      recent.push(now);
      seen.set(request.sourceIp, recent);
      return recent.length <= limit;
    });
  }
}

/**
 * The web ACL of each stage, by the ARN of the stage. Stages of one web ACL share its counts.
 *
 * @throws UnsupportedTemplateError for a rule that is not on rates
 */
export function readWebAcls(deployment: Deployment, now: () => Date): ReadonlyMap<string, WebAcl> {
  const acls = new Map(
    deployment
      .resources('AWS::WAFv2::WebACL')
      .map((resource) => [resource.attribute('Arn'), new WebAcl(readRules(resource), now)]),
  );
  return new Map(
    deployment.resources('AWS::WAFv2::WebACLAssociation').map((association) => {
      const acl = acls.get(text(association, 'WebACLArn'));
      if (!acl) throw new UnsupportedTemplateError(whereOf(association), 'the web ACL is missing');
      return [text(association, 'ResourceArn'), acl];
    }),
  );
}

function readRules(resource: Resource): readonly RateRule[] {
  const where = whereOf(resource);
  const refuse = (what: string) => new UnsupportedTemplateError(where, `${what} of a web ACL cannot be run locally`);
  if (!('Allow' in record(resource.property('DefaultAction')))) throw refuse('a default action other than Allow');
  const rules = list(resource.property('Rules')).map(record);
  return rules
    .sort((a, b) => Number(a.Priority) - Number(b.Priority))
    .map(({ Statement, Action }) => {
      const { RateBasedStatement: statement, ...otherStatements } = record(Statement);
      const { Block: reply, ...otherActions } = record(Action);
      const { Limit, EvaluationWindowSec = 300, AggregateKeyType, ScopeDownStatement, ...others } = record(statement);
      const unknown = { ...otherStatements, ...otherActions, ...record(reply), ...others };
      if (reply === undefined || AggregateKeyType !== 'IP' || Object.keys(unknown).length > 0)
        throw refuse('this rule');
      return {
        limit: Number(Limit),
        windowMs: Number(EvaluationWindowSec) * 1000,
        counts: readScope(ScopeDownStatement, refuse),
      };
    });
}

function readScope(statement: unknown, refuse: (what: string) => Error): RateRule['counts'] {
  if (statement === undefined) return () => true;
  const { RegexMatchStatement: regex, ...others } = record(statement);
  const match = record(regex);
  if (!('UriPath' in record(match.FieldToMatch)) || Object.keys(others).length > 0) throw refuse('this scope');
  const pattern = new RegExp(String(match.RegexString));
  const steps = list(match.TextTransformations).map(record);
  const change = steps
    .sort((a, b) => Number(a.Priority) - Number(b.Priority))
    .map(({ Type }) => {
      const transformation = transformations[String(Type)];
      if (!transformation) throw refuse(`the transformation ${String(Type)}`);
      return transformation;
    });
  return ({ path }) => pattern.test(change.reduce((text, step) => step(text), path));
}

const transformations: Readonly<Record<string, (text: string) => string>> = {
  URL_DECODE: (text) =>
    text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  NORMALIZE_PATH: (text) => posix.normalize(text),
};
