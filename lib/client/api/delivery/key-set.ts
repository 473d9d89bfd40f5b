import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { endorsementType } from '../../../contract/delivery.ts';
import { ClientError } from '../errors.ts';
import { ReceiptError } from './receipt.ts';

/** The keys of a service that a user trusts, by fingerprint: SHA-256 thumbprint (RFC 7638), base64url. */
export type PinnedKeys = readonly string[];

export interface KeyPins {
  readonly trusted: PinnedKeys;
  /** Pins keys that pinned ones have endorsed, once a receipt needs them. @returns what is pinned then */
  readonly learn: (known: PinnedKeys) => Promise<PinnedKeys>;
}

/** What the user can do about a key that is not pinned, once the operator has confirmed it. */
export function pinCommand(trusted: PinnedKeys, fingerprint: string): string {
  return `data-out setup --receipt-keys ${[...trusted, fingerprint].join(',')}`;
}

interface UsableKey {
  readonly kid: string;
  readonly key: KeyObject;
  readonly fingerprint: string;
}

/** The public keys that a service signs its receipts with. */
export class ReceiptKeys {
  readonly #byKid: ReadonlyMap<string, UsableKey>;
  /** Ids of keys of other types. */
  readonly #others: ReadonlySet<string>;
  #pins: KeyPins | undefined;

  /** @param pins which of the keys are trusted; `undefined`: all of them */
  constructor(keys: ReadonlyMap<string, UsableKey>, others: ReadonlySet<string>, pins: KeyPins | undefined) {
    this.#byKid = keys;
    this.#others = others;
    this.#pins = pins;
  }

  /** In the order of the set. */
  get fingerprints(): readonly string[] {
    return [...this.#byKid.values()].map(({ fingerprint }) => fingerprint);
  }

  /**
   * The key of a receipt.
   * @param kid as its header says
   * @param endorsements as its header says: statements of older keys, oldest first
   * @throws ReceiptError if the set does not have it, or if it is not pinned and no pinned key has endorsed it
   */
  async find(kid: string, endorsements: readonly string[]): Promise<KeyObject> {
    const found = this.#byKid.get(kid);
    if (found === undefined && this.#others.has(kid)) {
      throw new ReceiptError(`the key of the receipt is of another type: ${typeWanted}`);
    }
    if (found === undefined) {
      throw new ReceiptError('the receipt is signed by a key that is not in the key set', {
        remedy: 'Get the keys of the service that made it: its /.well-known/jwks.json also lists old ones.',
      });
    }
    if (this.#pins) await this.#admit(found.fingerprint, endorsements, this.#pins);
    return found.key;
  }

  async #admit(fingerprint: string, endorsements: readonly string[], { trusted, learn }: KeyPins): Promise<void> {
    if (trusted.includes(fingerprint)) return;
    const known = new Set(trusted);
    for (const jws of endorsements) {
      const next = this.#endorsed(jws, known);
      if (next !== undefined) known.add(next);
    }
    const pinned = known.has(fingerprint) ? await learn([...known]) : trusted;
    this.#pins = { trusted: pinned, learn };
    if (pinned.includes(fingerprint)) return;
    throw new ReceiptError(`the receipt is signed by a key that no pinned key has endorsed: ${fingerprint}`, {
      remedy:
        'Ask the operator, through another channel than this service, for the fingerprint of the receipt key. If it is this one: ' +
        pinCommand(pinned, fingerprint),
    });
  }

  /** The fingerprint that a key of `known` endorses by a compact JWS; `undefined` if none does. */
  #endorsed(jws: string, known: ReadonlySet<string>): string | undefined {
    const [header = '', payload = '', signature = '', ...more] = jws.split('.');
    const { alg, typ, kid } = membersOf(header);
    const { jkt } = membersOf(payload);
    const by = this.#byKid.get(String(kid));
    if (alg !== 'ES256' || typ !== endorsementType || typeof jkt !== 'string' || more.length > 0) return undefined;
    if (by === undefined || !known.has(by.fingerprint)) return undefined;
    return isSigned(`${header}.${payload}`, by.key, signature) ? jkt : undefined;
  }
}

const typeWanted = 'ES256 needs an EC key on P-256 for signatures';

/** Whether `signature`, base64url, is an ES256 signature of `text` (RFC 7518 § 3.4). */
export function isSigned(text: string, key: KeyObject, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url');
  return verify('sha256', Buffer.from(text, 'latin1'), { key, dsaEncoding: 'ieee-p1363' }, bytes);
}

/** The members of a JSON object in base64url; none if it is not one. */
export function membersOf(encoded: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8')));
  } catch {
    return {};
  }
}

/**
 * Keys of a JWK set (RFC 7517 § 5). Only keys for ES256 are used: `EC`, `P-256`, with a `kid`. Others, and private members, are
 * ignored.
 * @param source names the set in errors
 * @param pins which of them are trusted; default: all
 * @throws ClientError `usage` if it is not a JWK set, has no usable key, a key that is not a point of the curve, or two with one `kid`
 */
export function parseKeySet(text: string, source: string, pins?: KeyPins): ReceiptKeys {
  const members = (parsed(text, source) as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(members)) throw refused(source, 'it is not a JWK set: it has no list "keys"');
  const usable = new Map<string, UsableKey>();
  const others = new Set<string>();
  for (const member of members as unknown[]) {
    const { kty, crv, x, y, kid, alg = 'ES256', use = 'sig' } = Object(member) as Readonly<Record<string, unknown>>;
    if (typeof kid !== 'string') continue;
    if (kty !== 'EC' || crv !== 'P-256' || alg !== 'ES256' || use !== 'sig') {
      others.add(kid);
      continue;
    }
    if (usable.has(kid)) throw refused(source, 'two of its keys have the same id');
    usable.set(kid, { kid, ...pointOf({ kty, crv, x, y }, kid, source) });
  }
  if (usable.size > 0) return new ReceiptKeys(usable, others, pins);
  throw refused(source, `it has no key for ES256 with a key id: ${typeWanted}`);
}

function pointOf(jwk: Readonly<Record<string, unknown>>, kid: string, source: string): Omit<UsableKey, 'kid'> {
  try {
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    // Exported again: a coordinate can come in another form, and the thumbprint belongs to the key.
    const { x, y } = key.export({ format: 'jwk' });
    const members = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y });
    return { key, fingerprint: createHash('sha256').update(members).digest('base64url') };
  } catch (cause) {
    throw refused(source, `its key ${JSON.stringify(kid)} is not a point of the curve P-256`, cause);
  }
}

function parsed(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refused(source, 'it is not JSON', cause);
  }
}

function refused(source: string, why: string, cause?: unknown): ClientError {
  return new ClientError('usage', `${source}: these keys cannot be used: ${why}`, {
    remedy: 'Get the keys of the service from its /.well-known/jwks.json.',
    cause,
  });
}
