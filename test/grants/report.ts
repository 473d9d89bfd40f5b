import { type AccessEntry, grantText, type Origin } from '../../lib/local/iam/access.ts';
import { isAllowed } from '../../lib/local/iam/policy.ts';
import type { Grant } from '../helpers/function-roles.ts';

/** A grant, and what a run has shown of it. */
export interface JudgedGrant extends Grant {
  /** Who made calls that it allowed. */
  readonly origins: readonly Origin[];
  /** A call of the run would have been refused without it. */
  readonly isNeeded: boolean;
}

export interface GrantsReport {
  readonly judged: readonly JudgedGrant[];
  /** Calls of functions that their roles did not allow. */
  readonly denied: readonly AccessEntry[];
}

/**
 * Compare what roles allow with what a run did. Each grant is taken away separately: it is needed if one of the calls is then
 * refused.
 */
export function report(grants: readonly Grant[], entries: readonly AccessEntry[]): GrantsReport {
  const byRole = Map.groupBy(entries, ({ role }) => role);
  const statementsOf = Map.groupBy(grants, ({ role }) => role);
  const judged = grants.map((grant) => {
    const text = grantText(grant.statement);
    const uses = (byRole.get(grant.role) ?? []).filter(({ refusal, grants: by }) => !refusal && by.includes(text));
    const others = (statementsOf.get(grant.role) ?? []).map(({ statement }) => statement);
    const without = others.filter((statement) => statement !== grant.statement);
    const isNeeded = uses.some(({ permission }) => isAllowed(others, permission) && !isAllowed(without, permission));
    return { ...grant, origins: [...new Set(uses.map(({ origin }) => origin))].sort(), isNeeded };
  });
  const known = new Set(grants.map(({ role }) => role));
  return { judged, denied: entries.filter(({ role, refusal }) => refusal !== undefined && known.has(role)) };
}

/** The report for a terminal. */
export function reportText({ judged, denied }: GrantsReport): string {
  const functions = Map.groupBy(judged, ({ name }) => name);
  const parts = [...functions].map(([name, grants]) => {
    const [used, unused] = [grants.filter(({ isNeeded }) => isNeeded), grants.filter(({ isNeeded }) => !isNeeded)];
    const refused = denied.filter(({ role }) => role === grants[0]?.role);
    return [
      name,
      `  allowed and used: ${used.length}`,
      ...used.map(({ statement, origins }) => `    ${grantText(statement)} (${origins.join(', ')})`),
      `  allowed and never used: ${unused.length || 'none'}`,
      ...unused.map(({ statement }) => `    ${grantText(statement)}`),
      `  denied: ${refused.length || 'none'}`,
      ...refused.map(({ permission, refusal }) => `    ${permission.action} ${permission.resource} ${refusal}`),
    ].join('\n');
  });
  const never = judged.filter(({ isNeeded }) => !isNeeded).length;
  const sum = `${functions.size} functions, ${judged.length} grants: ${never} never used, ${denied.length} calls denied`;
  return `${parts.join('\n\n')}\n\n${sum}\n`;
}
