import { UnsupportedTemplateError } from '../errors.ts';
import type { Permission, Statement } from './policy.ts';
import { type ResourcePolicies, relation } from './resource-policies.ts';

/** A caller as policies see it. */
export interface Caller {
  /** Short name of the function, or `operator`. */
  readonly name: string;
  /** Of the role or user. */
  readonly arn: string;
  readonly statements: readonly Statement[];
}

/** What policies say about one permission of a caller. */
export interface Decision {
  /** Why not, in the words of AWS. `undefined`: it is allowed. */
  readonly refusal: string | undefined;
  /** The caller's own statements that allow it. None, if the resource's policy names the caller. */
  readonly grants: readonly Statement[];
}

/** What made a call: the function's own code, a holder of its presigned URL, or AWS in the name of its role. */
export type Origin = 'code' | 'url' | 'platform';

/** One decision about a function, for the proof of least privilege. */
export interface AccessEntry {
  /** Short name of the function. */
  readonly name: string;
  /** ARN of its role. */
  readonly role: string;
  readonly origin: Origin;
  readonly permission: Permission;
  /** As {@link grantText} writes them. */
  readonly grants: readonly string[];
  /** @default - the call was allowed */
  readonly refusal?: string;
}

/** A statement in one line: action, resource, and the conditions if there are any. */
export function grantText({ action, resource, condition = '' }: Statement): string {
  return `${action} ${resource} ${condition}`.trimEnd();
}

/** Decides about calls, and tells of the first decision of each kind. */
export class AccessControl {
  readonly #policies: ResourcePolicies;
  readonly #onEntry: (entry: AccessEntry) => void;
  readonly #told = new Set<string>();

  constructor(policies: ResourcePolicies, onEntry: (entry: AccessEntry) => void = () => {}) {
    this.#policies = policies;
    this.#onEntry = onEntry;
  }

  /** @param origin `undefined`: no function makes this call, so it is not told of */
  evaluate(caller: Caller, permission: Permission, origin: Origin | undefined): Decision {
    const decision = evaluate(this.#policies, caller, permission);
    if (origin) this.#tell(caller, permission, origin, decision);
    return decision;
  }

  /**
   * Make sure that AWS may do something in the name of a role.
   *
   * @throws UnsupportedTemplateError when it may not. AWS would take the template, and the service would not work
   */
  demand(caller: Caller, permissions: readonly Permission[], where: string): void {
    for (const permission of permissions) {
      const { refusal } = this.evaluate(caller, permission, 'platform');
      if (refusal) throw new UnsupportedTemplateError(where, `the role of ${caller.name} lacks ${permission.action}`);
    }
  }

  #tell(caller: Caller, permission: Permission, origin: Origin, { refusal, grants }: Decision): void {
    const texts = grants.map(grantText);
    // The ARN of an object or a message would tell each of them apart.
    const kind = [caller.arn, origin, permission.action, ...(refusal ? [refusal, permission.resource] : texts)].join(
      ' ',
    );
    if (this.#told.has(kind)) return;
    this.#told.add(kind);
    this.#onEntry({
      ...{ name: caller.name, role: caller.arn, origin, grants: texts },
      permission: withContext(permission, caller),
      ...(refusal && { refusal }),
    });
  }
}

/** The permission with the condition keys that every call has. */
function withContext(asked: Permission, caller: Caller): Permission {
  const context = {
    'aws:principalarn': caller.arn,
    'aws:principalisawsservice': 'false',
    // The connection of one machine stands for one with TLS.
    'aws:securetransport': 'true',
    ...(asked.action.startsWith('s3:') && { 's3:tlsversion': '1.3' }),
    ...asked.context,
  };
  return { ...asked, context };
}

/** `kms:ListKeys` and `kms:ListAliases` are about no key, so no key's policy decides about them. */
function isOnKey({ action, resource }: Permission): boolean {
  return action.startsWith('kms:') && resource !== '*';
}

/**
 * Decide as AWS does for callers of one account (IAM user guide, policy evaluation logic). A denial wins. Otherwise the
 * caller's own policy or that of the resource has to allow the call. A key's policy has to allow it always: it names the caller,
 * or leaves the decision to the caller's own policy by naming the account.
 */
export function evaluate(policies: Pick<ResourcePolicies, 'of'>, caller: Caller, asked: Permission): Decision {
  const permission = withContext(asked, caller);
  const own = caller.statements.filter((statement) => statement.applies(permission));
  const attached = policies.of(permission.resource).filter((statement) => statement.applies(permission));
  const isAbout = (kind: 'named' | 'account') => (statement: (typeof attached)[number]) =>
    statement.effect === 'Allow' && relation(statement, caller.arn) === kind;
  const grants = own.filter(({ effect }) => effect === 'Allow');
  const refused = (reason: string): Decision => ({ refusal: reason, grants });
  if (own.length > grants.length) return refused('with an explicit deny in an identity-based policy');
  if (attached.some((statement) => statement.effect === 'Deny' && relation(statement, caller.arn))) {
    return refused('with an explicit deny in a resource-based policy');
  }
  if (attached.some(isAbout('named'))) return { refusal: undefined, grants: [] };
  if (grants.length === 0) return refused(`because no identity-based policy allows the ${permission.action} action`);
  if (isOnKey(permission) && !attached.some(isAbout('account'))) {
    return refused(`because no resource-based policy allows the ${permission.action} action`);
  }
  return { refusal: undefined, grants };
}
