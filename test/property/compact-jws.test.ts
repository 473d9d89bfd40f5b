import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { compactVerify, type JWTHeaderParameters } from 'jose';
import { expect, test } from 'vitest';
import { signDigest } from '../../lib/local/kms/ecdsa.ts';
import { compactJws } from '../../lib/service/export/receipt/prepared-receipt.ts';
import { joseSignature } from '../../lib/service/stores/receipt-signer.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const secret = Buffer.from(String(privateKey.export({ format: 'jwk' }).d), 'base64url');
const header = { alg: 'ES256', kid: 'a key', typ: 'data-out-delivery+jwt' };

async function jwsOf(pieces: readonly string[]): Promise<string> {
  async function* payload() {
    yield* pieces;
  }
  const sign = async (digest: Uint8Array) => joseSignature(signDigest(digest, secret));
  const bytes: Uint8Array[] = [];
  for await (const piece of compactJws(header, payload(), sign)) bytes.push(piece);
  return Buffer.concat(bytes).toString('latin1');
}

test('a payload in any pieces comes out whole under a signature that another library accepts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'binary', maxLength: 20 })), async (pieces) => {
      const { payload, protectedHeader } = await compactVerify(await jwsOf(pieces), publicKey);
      expect(Buffer.from(payload).toString()).toBe(pieces.join(''));
      expect(protectedHeader satisfies JWTHeaderParameters | object).toEqual(header);
    }),
  );
});

test('a JWS with any character changed is refused', async () => {
  const jws = await jwsOf(['{"complete":', 'true}']);
  await fc.assert(
    fc.asyncProperty(fc.nat(jws.length - 1), fc.constantFrom(...'AQgw.-_9'), async (at, character) => {
      fc.pre(jws[at] !== character);
      // The last character of the signature has two bits that no byte holds.
      fc.pre(at < jws.length - 1);
      const changed = jws.slice(0, at) + character + jws.slice(at + 1);
      await expect(compactVerify(changed, publicKey)).rejects.toThrow();
    }),
  );
});
