import {
  type CompactJWSHeaderParameters,
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  errors,
  importJWK,
} from 'jose';
import * as z from 'zod/mini';
import { parseJson } from '../../../common/untrusted-json.ts';
import { endorsementType } from '../../../contract/delivery.ts';
import { ClientError } from '../errors.ts';
import { ReceiptError } from './receipt.ts';

/** The keys of a service that a user trusts, by fingerprint: SHA-256 thumbprint (RFC 7638), base64url. */
export type PinnedKeys = readonly string[];

/** What is pinned after a change of what is pinned now. */
export type ChangePins = (changed: (pins: PinnedKeys) => PinnedKeys | Promise<PinnedKeys>) => Promise<PinnedKeys>;

/** What the user can do about a key that is not pinned, once the operator has confirmed it. */
export function pinCommand(trusted: PinnedKeys, fingerprint: string): string {
  return `data-out setup --receipt-keys ${[...trusted, fingerprint].join(',')}`;
}

/** The public keys that a service signs its receipts with. */
export class ReceiptKeys {
  /** Each with its fingerprint. */
  readonly #byKid: ReadonlyMap<string, { readonly key: CryptoKey; readonly fingerprint: string }>;
  /** `undefined`: all keys of the set are trusted. */
  #pins: PinnedKeys | undefined;
  #change: ChangePins = async (changed) => changed(this.#pins ?? []);

  constructor(keys: ReadonlyMap<string, { readonly key: CryptoKey; readonly fingerprint: string }>) {
    this.#byKid = keys;
  }

  /** In the order of the set. */
  get fingerprints(): readonly string[] {
    return [...this.#byKid.values()].map(({ fingerprint }) => fingerprint);
  }

  /** Trusts pinned keys only, and pins those that they endorse. */
  pin(trusted: PinnedKeys, change: ChangePins): void {
    this.#pins = trusted;
    this.#change = change;
  }

  /**
   * The key of a receipt.
   * @param kid as its header says
   * @param endorsements as its header says: statements of older keys, oldest first
   * @throws ReceiptError if the set does not have it, or if it is not pinned and no pinned key has endorsed it
   */
  async find(kid: unknown, endorsements: unknown): Promise<CryptoKey> {
    const found = this.#byKid.get(String(kid));
    if (found === undefined) {
      throw new ReceiptError('the receipt is signed by a key that is not in the key set', {
        remedy: 'Get the keys of the service that made it: its /.well-known/jwks.json also lists old ones.',
      });
    }
    const { fingerprint, key } = found;
    if (this.#pins === undefined || this.#pins.includes(fingerprint)) return key;
    const withEndorsed = async (pins: PinnedKeys) => {
      const known = new Set(pins);
      for (const jws of Array.isArray(endorsements) ? endorsements.map(String) : []) {
        const next = await this.#endorsed(jws, known).catch(() => undefined);
        if (next !== undefined) known.add(next);
      }
      return known.has(fingerprint) ? [...known] : pins;
    };
    // Looked at again by what is pinned then, because the user might have removed a key meanwhile.
    if ((await withEndorsed(this.#pins)).includes(fingerprint)) this.#pins = await this.#change(withEndorsed);
    if (this.#pins.includes(fingerprint)) return key;
    throw new ReceiptError(`the receipt is signed by a key that no pinned key has endorsed: ${fingerprint}`, {
      remedy:
        'Ask the operator, through another channel than this service, for the fingerprint of the receipt key. If it is this one: ' +
        pinCommand(this.#pins, fingerprint),
    });
  }

  /** The fingerprint that a key of `known` endorses by a compact JWS. @throws unless one does */
  async #endorsed(jws: string, known: ReadonlySet<string>): Promise<string> {
    const payload = await payloadOf(jws, endorsementType, ({ kid }) => {
      const by = this.#byKid.get(String(kid));
      if (by && known.has(by.fingerprint)) return by.key;
      throw new Error('the endorsing key is not trusted');
    });
    return z.object({ jkt: z.string() }).parse(JSON.parse(payload)).jkt;
  }
}

/** The payload of a compact JWS, signed by ES256. @throws JOSEError; errors of `keyOf` */
export async function payloadOf(
  jws: string,
  type: string,
  keyOf: (header: CompactJWSHeaderParameters) => CryptoKey | Promise<CryptoKey>,
): Promise<string> {
  const { payload, protectedHeader } = await compactVerify(jws, async (header) => keyOf(header), {
    algorithms: ['ES256'],
  });
  if (protectedHeader.typ === type) return Buffer.from(payload).toString('utf8');
  throw new errors.JWSInvalid(`its type is not ${type}`);
}

const keySet = z.object({ keys: z.array(z.unknown()) });
const es256Key = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  alg: z.optional(z.literal('ES256')),
  use: z.optional(z.literal('sig')),
});

/**
 * Keys of a JWK set (RFC 7517 § 5). Only keys for ES256 are used: `EC`, `P-256`, with a `kid`. Others are ignored.
 * @param source names the set in errors
 * @throws ClientError `usage` if it is not a JWK set, or has no usable key
 */
export async function parseKeySet(text: string, source: string): Promise<ReceiptKeys> {
  const usable = new Map<string, { readonly key: CryptoKey; readonly fingerprint: string }>();
  for (const member of keySet.safeParse(parseJson(text)).data?.keys ?? []) {
    const found = es256Key.safeParse(member).data;
    if (found === undefined) continue;
    const { kty, crv, x, y, kid } = found;
    const point = { kty, crv, x, y };
    // What is not a point of the curve is not used.
    const key = await importJWK(point, 'ES256').catch(() => undefined);
    if (key) usable.set(kid, { key: key as CryptoKey, fingerprint: await calculateJwkThumbprint(point) });
  }
  if (usable.size > 0) return new ReceiptKeys(usable);
  throw new ClientError('usage', `${source}: these keys cannot be used: it has no key for ES256 with a key id`, {
    remedy: 'Get the keys of the service from its /.well-known/jwks.json.',
  });
}
