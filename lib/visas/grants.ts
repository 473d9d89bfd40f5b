import type { Subject } from '../contract/outbox-key.ts';
import { grantType } from '../contract/reasons.ts';
import type { VisaErrorCode } from './errors.ts';
import type { ValidVisa } from './visa.ts';

/** One dataset that one visa grants to one identity. */
export interface DatasetGrant {
  /** Whom the visa is about. */
  readonly subject: Subject;
  /** What the visa's `value` names, by the issuer's `datasetIdFrom`: a stable id or an alias. */
  readonly datasetId: string;
  /** When it ends: the earlier of the visa and the passport around it. */
  readonly expiresAt: Date;
  /**
   * Hashes (`entryHash`) of the visa, of the passport around it, and of each one's subject. When one of them is denied, the
   * grant is void.
   */
  readonly dependsOn: readonly string[];
}

/** A visa of a passport that is left out. The passport's other visas still count. */
export interface IgnoredVisa {
  /** Index in `ga4gh_passport_v1`. */
  readonly position: number;
  readonly reason: VisaErrorCode;
  /** The dataset that it would grant without its conditions. */
  readonly datasetId?: string | undefined;
}

/**
 * The grants of a visa or passport. All of them have been verified.
 *
 * An identity is the `(iss, sub)` of a visa, and identities are never merged: a passport may hold visas of several, and
 * each dataset is granted to the identity in the visa that grants it (Passport 1.2, General Requirements 8.4). So the recipient of
 * an export is the `subject` of the **first** of `grants` that names the dataset, and a listing covers the outbox of
 * every one of `subjects`: what was exported with a visa is found with that visa and with any passport that holds it.
 */
export interface VerifiedGrants {
  readonly kind: 'visa' | 'passport';
  /**
   * The first of `subjects`, or the token's own subject when there are none. It names the caller in logs. For
   * recipients use `grants`, for outboxes `subjects`.
   */
  readonly subject: Subject;
  /**
   * Identities of the ControlledAccessGrants visas that count, also of those for datasets elsewhere. The passport's own
   * identity is first if it is among them, the others follow in code unit order, so that the order of the visas in the
   * passport changes nothing.
   */
  readonly subjects: readonly Subject[];
  /** In the order of `subjects`, then of dataset ids; at most one for an identity and a dataset. */
  readonly grants: readonly DatasetGrant[];
  /** Every dataset id in `grants`. Empty for a valid visa of another type. */
  readonly datasetIds: ReadonlySet<string>;
  /** The earliest expiry of the token and of every visa that counts. May lie up to the leeway (60 s) in the past. */
  readonly expiresAt: Date;
  /** Visas of the passport that were left out. */
  readonly ignored: readonly IgnoredVisa[];
}

/** @param token the visa or passport as a whole: it bounds every expiry */
export function collectGrants(
  visas: readonly ValidVisa[],
  token: Pick<VerifiedGrants, 'kind' | 'subject' | 'expiresAt' | 'ignored'> & Pick<DatasetGrant, 'dependsOn'>,
): VerifiedGrants {
  const subjects = new Map<string, Subject>();
  const grants = new Map<string, DatasetGrant>();
  let { expiresAt } = token;
  for (const { type, subject, datasetId, expiresAt: visaExpiry, dependsOn: tokens } of visas) {
    if (type !== grantType) continue;
    subjects.set(JSON.stringify([subject.iss, subject.sub]), subject);
    expiresAt = earlier(expiresAt, visaExpiry);
    if (datasetId === undefined) continue;
    const key = JSON.stringify([subject.iss, subject.sub, datasetId]);
    const dependsOn = [...new Set([...tokens, ...token.dependsOn])];
    const grant = { subject, datasetId, expiresAt: earlier(token.expiresAt, visaExpiry), dependsOn };
    const known = grants.get(key);
    if (!known || known.expiresAt < grant.expiresAt) grants.set(key, grant);
  }
  const inOrder = (a: Subject, b: Subject) => compareSubjects(a, b, token.subject);
  const orderedSubjects = [...subjects.values()].sort(inOrder);
  const orderedGrants = [...grants.values()].sort(
    (a, b) => inOrder(a.subject, b.subject) || compare(a.datasetId, b.datasetId),
  );
  return {
    kind: token.kind,
    subject: orderedSubjects[0] ?? token.subject,
    subjects: orderedSubjects,
    grants: orderedGrants,
    datasetIds: new Set(orderedGrants.map(({ datasetId }) => datasetId)),
    expiresAt,
    ignored: token.ignored,
  };
}

/** Why the dataset is not granted, for staff and never for the caller; `undefined` when it is. */
export function denialReason(verified: VerifiedGrants, datasetId: string): VisaErrorCode | undefined {
  if (verified.datasetIds.has(datasetId)) return undefined;
  if (verified.kind === 'visa') return verified.subjects.length === 0 ? 'wrong_visa_type' : 'value_mismatch';
  return verified.ignored.find((visa) => visa.datasetId === datasetId)?.reason ?? 'no_matching_visa';
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}

function compareSubjects(a: Subject, b: Subject, first: Subject): number {
  return Number(isSame(b, first)) - Number(isSame(a, first)) || compare(a.iss, b.iss) || compare(a.sub, b.sub);
}

/** Whether both are one identity: `sub` is unique for its `iss` only. */
export function isSame(a: Subject, b: Subject): boolean {
  return a.iss === b.iss && a.sub === b.sub;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
