import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { percentDecoded } from '../../../common/percent.ts';
import type { DenyList } from '../../../contract/deny-list.ts';
import { outboxPrefix } from '../../../contract/outbox-key.ts';
import { DataOutError } from '../../../errors.ts';
import type { DatasetGrant } from '../../../visas/index.ts';
import type { Clock } from '../../archive/ports.ts';

/** The key under which tokens are made, from a secret. */
export interface TicketKeys {
  /** The key, as old as other secrets in memory. */
  current(): Promise<Uint8Array>;
  /** The key, a few seconds old at most. */
  refreshed(): Promise<Uint8Array>;
}

/** What a token of a ticket allows: one data URL, by every method, until it expires. */
export interface TicketClaims {
  /** `<file id>/<part>`: the file, its version, the form, the range and the reader's key. */
  readonly path: string;
  /** Stable id of the dataset through which the file was given. */
  readonly datasetId: string;
  readonly expiresAt: Date;
  /** Hash of the subject, as `outboxPrefix` has it. */
  readonly principalId: string;
  /** Hashes (`entryHash`) of everything the grant depends on; one that is denied ends the token. */
  readonly dependsOn: readonly string[];
}

const hashBytes = 32;
const payloadShape = z.strictObject({
  p: z.string(),
  d: z.string(),
  /** Seconds since 1970. */
  e: z.int(),
  /** The hashes one after the other, the subject's first, in base64url. */
  h: z.base64url(),
});

/** What the path of a data URL binds its token to: `<file id>/<part>`, decoded. */
export function ticketPath(pathParameters: ReadonlyMap<string, string | undefined>): string {
  return ['id', 'part'].map((name) => percentDecoded(pathParameters.get(name) ?? '')).join('/');
}

/** Whether a Bearer token has the form of a ticket's: visas and passports have two points. */
export function isTicketToken(token: string): boolean {
  return token.split('.').length === 2;
}

/** Claims of a ticket's tokens that are the same for all its URLs. */
export function claimsOf(
  { subject, dependsOn }: DatasetGrant,
  datasetId: string,
): Omit<TicketClaims, 'path' | 'expiresAt'> {
  return { datasetId, principalId: outboxPrefix(subject), dependsOn };
}

/** A token for one data URL: `<payload>.<HMAC-SHA-256>`, both in base64url. @param key of {@link TicketKeys} */
export function signTicket(
  { path, datasetId, expiresAt, principalId, dependsOn }: TicketClaims,
  key: Uint8Array,
): string {
  const hashes = [principalId, ...dependsOn.filter((hash) => hash !== principalId)];
  const payload = Buffer.from(
    JSON.stringify({
      p: path,
      d: datasetId,
      e: Math.floor(expiresAt.getTime() / 1000),
      h: Buffer.from(hashes.join(''), 'hex').toString('base64url'),
    } satisfies z.infer<typeof payloadShape>),
  ).toString('base64url');
  return `${payload}.${macOf(payload, key).toString('base64url')}`;
}

/** The text before the payload keeps the key from signing anything else. */
function macOf(payload: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`data-out htsget ticket 1\n${payload}`).digest();
}

/**
 * The claims of a token, for the data URL that is asked for now.
 *
 * @param path `<file id>/<part>` of the request, decoded
 * @throws `unauthenticated` for a token that this service did not make, of another URL, expired, or denied meanwhile
 */
export async function verifyTicket(
  token: string,
  path: string,
  { keys, denied, now }: { readonly keys: TicketKeys; readonly denied: () => Promise<DenyList>; readonly now: Clock },
): Promise<TicketClaims> {
  const [payload = '', mac = ''] = token.split('.');
  const isOurs = (key: Uint8Array) => {
    const sent = Buffer.from(mac, 'base64url');
    const ours = macOf(payload, key);
    return sent.length === ours.length && timingSafeEqual(sent, ours);
  };
  // Another instance may have read a new key already.
  if (!isOurs(await keys.current()) && !isOurs(await keys.refreshed())) {
    throw new DataOutError('unauthenticated', 'the token is not one of a ticket of this service: ask for a new ticket');
  }
  const { p, d: datasetId, e, h } = payloadShape.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  if (p !== path)
    throw new DataOutError('unauthenticated', 'the token belongs to another URL of its ticket, or to another ticket');
  const expiresAt = new Date(e * 1000);
  if (expiresAt <= now()) throw new DataOutError('unauthenticated', 'the ticket has expired: ask for a new one');
  const hashes =
    Buffer.from(h, 'base64url')
      .toString('hex')
      .match(new RegExp(`.{${2 * hashBytes}}`, 'g')) ?? [];
  const list = await denied();
  if (hashes.some((hash) => list.has(hash))) {
    throw new DataOutError(
      'unauthenticated',
      'the operator of the service has denied the token behind this ticket, or its subject',
    );
  }
  return { path, datasetId, expiresAt, principalId: hashes[0] ?? '', dependsOn: hashes };
}

const dayMs = 24 * 60 * 60_000;
const baseMs = 15 * 60_000;
/** What AWS Lambda streams a second, once a reply is longer than 6 MB. */
const bytesPerSecond = 2_000_000;

/** When the tokens of a ticket over this many bytes expire: long enough to fetch all of it one after the other. */
export function ticketExpiry(grant: Pick<DatasetGrant, 'expiresAt'>, bytes: number, now: Date): Date {
  const lifetime = Math.min(baseMs + (bytes / bytesPerSecond) * 1000, dayMs);
  return new Date(Math.min(grant.expiresAt.getTime(), now.getTime() + lifetime));
}
