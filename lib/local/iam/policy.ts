import { UnsupportedTemplateError } from '../errors.ts';
import { list, record } from '../template/template.ts';
import { glob, parseConditions, type RequestContext, refuseVariables } from './conditions.ts';

/** One action on one resource that a policy allows or denies. A statement of a policy is a list of them. */
export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  /** Pattern, as the policy has it. */
  readonly action: string;
  /** Pattern, as the policy has it. */
  readonly resource: string;
  /** JSON of the conditions, as the policy has them. @default - there are none */
  readonly condition: string | undefined;
  /** Whether it is about this call. */
  applies(permission: Permission): boolean;
}

/** One permission that a call needs. */
export interface Permission {
  /** `service:Action`. */
  readonly action: string;
  /** ARN. */
  readonly resource: string;
  /** Condition keys of the request that policies may look at. */
  readonly context?: RequestContext;
}

/**
 * Read a policy document.
 *
 * @param where names the policy, for errors.
 * @throws UnsupportedTemplateError for a form that would be evaluated wrongly here.
 */
export function parsePolicy(document: unknown, where: string): readonly Statement[] {
  return list(record(document).Statement).flatMap((statement) => parseStatement(statement, where));
}

/** Read one statement of a policy document. @throws UnsupportedTemplateError as {@link parsePolicy} does */
export function parseStatement(statement: unknown, where: string): readonly Statement[] {
  const { Effect: effect, Action: action, Resource: resource, Condition: condition } = record(statement);
  if ((effect !== 'Allow' && effect !== 'Deny') || action === undefined || resource === undefined) {
    throw new UnsupportedTemplateError(where, 'a policy statement needs Effect, Action and Resource');
  }
  const conditions = parseConditions(condition, where);
  const resources = list(resource).map(String);
  refuseVariables(resources, where);
  return list(action)
    .map(String)
    .flatMap((one) =>
      resources.map((target) => {
        const [actions, targets] = [glob(one, 'i'), glob(target)];
        return {
          effect,
          action: one,
          resource: target,
          condition: conditions.length > 0 ? JSON.stringify(condition) : undefined,
          applies: (permission: Permission) =>
            actions.test(permission.action) &&
            targets.test(permission.resource) &&
            conditions.every((meets) => meets(permission.context ?? {})),
        };
      }),
    );
}

/** Whether the statements allow a call: some statement allows it and none denies it. */
export function isAllowed(statements: readonly Statement[], permission: Permission): boolean {
  const applying = statements.filter((statement) => statement.applies(permission));
  return applying.length > 0 && applying.every(({ effect }) => effect === 'Allow');
}

/** Statements of an operator who may do everything. */
export const fullAccess = parsePolicy({ Statement: { Effect: 'Allow', Action: '*', Resource: '*' } }, 'operator');
