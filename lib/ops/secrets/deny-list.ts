import { unverifiedClaims, visasIn } from '../../common/untrusted-json.ts';
import { type DenyListEntry, denyListBytes, denyListDocument, entryHash, tokenId } from '../../contract/deny-list.ts';
import { DataOutError } from '../../errors.ts';
import { OpsError } from '../errors.ts';
import type { EditableSecret } from '../stores/json-secret.ts';
import { readDocument } from './document.ts';

/** The entries of the list, oldest first. @throws OpsError `unusable_input` for another document */
export async function readDenyList(secret: EditableSecret): Promise<readonly DenyListEntry[]> {
  const form = '{"denied":[{"iss","jti"},{"iss","sha256"},{"iss","sub"}]}';
  const about = { name: 'the deny list', form, empty: { denied: [] } };
  return (await readDocument(secret, denyListDocument, about)).denied;
}

/**
 * Put entries on the list. An entry that already exists is replaced. Entries of tokens that expired long ago are
 * dropped: such tokens are refused without them.
 * @throws OpsError `too_large` when the secret cannot hold the list, which then stays as it was
 */
export async function deny(secret: EditableSecret, entries: readonly DenyListEntry[], now: Date): Promise<void> {
  const added = new Set(entries.map(entryHash));
  const kept = (await readDenyList(secret)).filter((entry) => !added.has(entryHash(entry)) && !hasEnded(entry, now));
  const document = { denied: [...kept, ...entries] };
  const bytes = Buffer.byteLength(JSON.stringify(document));
  if (bytes > denyListBytes) {
    const remedy = "deny a subject instead of its tokens, or take the issuer's key out of the trusted issuers";
    const found = `the deny list would have ${bytes} bytes, a secret holds ${denyListBytes}`;
    throw new OpsError('too_large', `${found}: ${remedy}`);
  }
  await secret.write(document);
}

/** Take an entry off the list. */
export async function allow(secret: EditableSecret, entry: DenyListEntry): Promise<void> {
  const denied = await readDenyList(secret);
  const left = denied.filter((each) => entryHash(each) !== entryHash(entry));
  if (left.length === denied.length) {
    const message = `the deny list has no ${nameOf(entry)}: data-out-ops visa denied shows what it has`;
    throw new DataOutError('not_found', message);
  }
  await secret.write({ denied: left });
}

/**
 * The entries that deny a token. A passport has one for itself and one for each of its visas, because each visa can be
 * used alone.
 * @throws OpsError `unusable_input` for a text that is not a token, or a token without `iss`
 */
export function entriesOf(token: string): readonly DenyListEntry[] {
  return [token, ...(visasIn(token) ?? [])].map(entryOf);
}

function entryOf(token: string): DenyListEntry {
  const { iss, jti, exp } = unverifiedClaims(token) ?? {};
  if (typeof iss !== 'string' || iss === '') {
    throw new OpsError('unusable_input', 'this is not a visa or passport: it has no claim iss');
  }
  return { ...tokenId(token, iss, jti), ...untilOf(exp) };
}

/**
 * Milliseconds that an entry is kept after its token has expired: 30 days. Staging a file checks this list, but no longer the token's
 * expiry. A queue keeps the message of a file for 14 days, and the sweep sends another one for a file that was never sent.
 */
const usefulMs = 30 * 86_400_000;
/** The end of the year 9999, the last that ISO 8601 writes with four digits. */
const lastMs = 253_402_300_799_999;

function untilOf(exp: unknown): { until?: string } {
  const ends = typeof exp === 'number' ? exp * 1000 + usefulMs : Number.NaN;
  return ends >= 0 && ends <= lastMs ? { until: new Date(ends).toISOString() } : {};
}

function hasEnded(entry: DenyListEntry, now: Date): boolean {
  return 'until' in entry && entry.until !== undefined && new Date(entry.until) < now;
}

/** An entry in words. */
export function nameOf(entry: DenyListEntry): string {
  return `${'sub' in entry ? 'subject' : 'token'} ${idOf(entry)} of ${entry.iss}`;
}

/** What follows the issuer in an entry. */
export function idOf(entry: DenyListEntry): string {
  if ('sub' in entry) return entry.sub;
  return 'jti' in entry ? entry.jti : entry.sha256;
}
