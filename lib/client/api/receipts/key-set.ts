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

interface UsableKey {
  readonly key: CryptoKey;
  readonly fingerprint: string;
}

/** The public keys that a service signs its receipts with. */
export class ReceiptKeys {
  readonly #byKid: ReadonlyMap<string, UsableKey>;
  #pins: { readonly trusted: PinnedKeys; readonly change: ChangePins } | undefined;

  constructor(keys: ReadonlyMap<string, UsableKey>) {
    this.#byKid = keys;
  }

  /** In the order of the set. */
  get fingerprints(): readonly string[] {
    return [...this.#byKid.values()].map(({ fingerprint }) => fingerprint);
  }

  /** Trusts pinned keys, and pins those that they endorse. Before, all keys of the set are trusted. */
  pin(trusted: PinnedKeys, change: ChangePins): void {
    this.#pins = { trusted, change };
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
    const pins = this.#pins;
    if (pins === undefined || pins.trusted.includes(fingerprint)) return key;
    const chain = Array.isArray(endorsements) ? endorsements.map(String) : [];
    const withEndorsed = async (pinned: PinnedKeys) => {
      const known = new Set(pinned);
      for (const jws of chain) {
        const next = await this.#endorsed(jws, known).catch(() => undefined);
        if (next !== undefined) known.add(next);
      }
      return known.has(fingerprint) ? [...known] : pinned;
    };
    const isEndorsed = (await withEndorsed(pins.trusted)).includes(fingerprint);
    // Again, by what is pinned then: the user might have removed a key meanwhile.
    const trusted = isEndorsed ? await pins.change(withEndorsed) : pins.trusted;
    this.#pins = { ...pins, trusted };
    if (trusted.includes(fingerprint)) return key;
    throw new ReceiptError(`the receipt is signed by a key that no pinned key has endorsed: ${fingerprint}`, {
      remedy:
        'Ask the operator, through another channel than this service, for the fingerprint of the receipt key. If it is this one: ' +
        pinCommand(trusted, fingerprint),
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
  if (protectedHeader.typ === type)
    return Buffer.from(payload.buffer).toString('utf8', payload.byteOffset, payload.byteOffset + payload.length);
  throw new errors.JWSInvalid(`its type is not ${type}`);
}

const keySet = z.object({ keys: z.array(z.unknown()) });
const es256Key = z.looseObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  kid: z.string(),
  alg: z.optional(z.literal('ES256')),
  use: z.optional(z.literal('sig')),
});

/**
 * Keys of a JWK set (RFC 7517 § 5). Only keys for ES256 are used: `EC`, `P-256`, with a `kid`. Others, and private members, are
 * ignored.
 * @param source names the set in errors
 * @throws ClientError `usage` if it is not a JWK set, has no usable key, a key that is not a point of the curve, or two with one `kid`
 */
export async function parseKeySet(text: string, source: string): Promise<ReceiptKeys> {
  const { data } = keySet.safeParse(parseJson(text));
  if (data === undefined) throw refused(source, 'it is not a JWK set: it has no list "keys"');
  const usable = new Map<string, UsableKey>();
  for (const member of data.keys) {
    const jwk = es256Key.safeParse(member).data;
    if (jwk === undefined) continue;
    const { kty, crv, x, y, kid } = jwk;
    if (usable.has(kid)) throw refused(source, 'two of its keys have the same id');
    try {
      const point = { kty, crv, x: String(x), y: String(y) };
      const key = (await importJWK(point, 'ES256')) as CryptoKey;
      usable.set(kid, { key, fingerprint: await calculateJwkThumbprint(point) });
    } catch (cause) {
      throw refused(source, `its key ${JSON.stringify(kid)} is not a point of the curve P-256`, cause);
    }
  }
  if (usable.size > 0) return new ReceiptKeys(usable);
  throw refused(source, 'it has no key for ES256 with a key id: that is an EC key on P-256 for signatures');
}

function refused(source: string, why: string, cause?: unknown): ClientError {
  return new ClientError('usage', `${source}: these keys cannot be used: ${why}`, {
    remedy: 'Get the keys of the service from its /.well-known/jwks.json.',
    cause,
  });
}
