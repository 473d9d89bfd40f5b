import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { calculateJwkThumbprint, compactVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { signDigest } from '../../../../lib/local/kms/ecdsa.ts';
import { kmsReceiptSigner, signingJwk } from '../../../../lib/service/stores/receipt-signer.ts';
import { brokenConnection, type SdkReply, scripted, testClient, textOf } from '../../../helpers/http-handler.ts';

const keyArn = 'arn:aws:kms:eu-north-1:123456789012:key/receipts';
const digest = createHash('sha256').update('signing input').digest();

function kmsOver(...replies: readonly (SdkReply | Error)[]) {
  const { handler, requests } = scripted(replies);
  const client = new KMSClient({ ...testClient, requestHandler: handler, maxAttempts: 1 });
  const sent = () =>
    requests.map((request) => ({
      target: request.headers['x-amz-target'],
      body: JSON.parse(textOf(request)) as unknown,
    }));
  return { client, sent, signer: kmsReceiptSigner(client, [keyArn]) };
}
const reply = (body: object): SdkReply => ({ status: 200, body: JSON.stringify(body) });
const refusal = (type: string, status = 400): SdkReply => ({ status, body: JSON.stringify({ __type: type }) });
const spki = (curve: string) =>
  generateKeyPairSync('ec', { namedCurve: curve }).publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

describe('a signature', () => {
  test('is asked for by digest, and comes in the form of JWS', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const der = sign('sha256', Buffer.from('signing input'), privateKey);
    const { signer, sent } = kmsOver(reply({ Signature: der.toString('base64') }));
    expect(await signer.sign(digest)).toHaveLength(64);
    expect(sent()).toEqual([
      {
        target: 'TrentService.Sign',
        body: {
          KeyId: keyArn,
          Message: digest.toString('base64'),
          MessageType: 'DIGEST',
          SigningAlgorithm: 'ECDSA_SHA_256',
        },
      },
    ]);
  });

  test.each([
    ['throttling', refusal('ThrottlingException')],
    ['a failure of KMS', refusal('KMSInternalException', 500)],
    ['a broken connection', brokenConnection()],
  ])('can be asked for again after %s', async (_, answer) => {
    await expect(kmsOver(answer).signer.sign(digest)).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
  });

  test('fails for good without the permission, and when it has no known form', async () => {
    await expect(kmsOver(refusal('AccessDeniedException')).signer.sign(digest)).rejects.toMatchObject({
      name: 'AccessDeniedException',
    });
    await expect(kmsOver(reply({ Signature: 'AAAA' })).signer.sign(digest)).rejects.toThrow(TypeError);
  });
});

describe('a key', () => {
  test('is named by the thumbprint of its public part, which is asked for once', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const PublicKey = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    const { signer, sent } = kmsOver(refusal('ThrottlingException'), reply({ PublicKey }));
    await expect(signer.identity()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    const expected = { kid: await calculateJwkThumbprint(publicKey) };
    expect([await signer.identity(), await signer.identity()]).toEqual([expected, expected]);
    expect(sent()).toHaveLength(2);
  });

  test('is endorsed by the key before it, and that one by the first', async () => {
    const pairs = [1, 2, 3].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
    const kids = await Promise.all(pairs.map(({ publicKey }) => calculateJwkThumbprint(publicKey)));
    const client = {
      async send({ input }: { input: { KeyId: string; Message?: Uint8Array } }) {
        const { publicKey, privateKey } = pairs[Number(input.KeyId)]!;
        if (!input.Message) return { PublicKey: publicKey.export({ format: 'der', type: 'spki' }) };
        const secret = Buffer.from(String(privateKey.export({ format: 'jwk' }).d), 'base64url');
        return { Signature: signDigest(input.Message, secret) };
      },
    } as unknown as KMSClient;
    const { kid, endorsements = [] } = await kmsReceiptSigner(client, ['0', '1', '2']).identity();
    expect(kid).toBe(kids[2]);
    const said = await Promise.all(
      endorsements.map(async (jws, index) => {
        const { payload, protectedHeader } = await compactVerify(jws, pairs[index]!.publicKey);
        return { ...protectedHeader, ...JSON.parse(Buffer.from(payload).toString()) };
      }),
    );
    const about = { alg: 'ES256', typ: 'data-out-key+jwt' };
    expect(said).toEqual([
      { ...about, kid: kids[0], jkt: kids[1] },
      { ...about, kid: kids[1], jkt: kids[2] },
    ]);
  });

  // RFC 7515 § A.3.1: key; the thumbprint by RFC 7638 was computed with OpenSSL.
  test('becomes a JWK with its use and algorithm', async () => {
    const x = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
    const y = 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0';
    const header = '3059301306072a8648ce3d020106082a8648ce3d03010703420004';
    const point = Buffer.concat([x, y].map((coordinate) => Buffer.from(coordinate, 'base64url')));
    const PublicKey = Buffer.concat([Buffer.from(header, 'hex'), point]).toString('base64');
    expect(await signingJwk(kmsOver(reply({ PublicKey })).client, keyArn)).toEqual({
      ...{ kty: 'EC', crv: 'P-256', x, y, use: 'sig', alg: 'ES256' },
      kid: 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U',
    });
  });

  test.each([
    ['on another curve', spki('P-384'), 'P-256'],
    [
      'of another kind',
      generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      'EC',
    ],
    ['that is none', 'AAAA', 'asymmetric key'],
  ])('%s is refused', async (_, PublicKey, why) => {
    await expect(signingJwk(kmsOver(reply({ PublicKey })).client, keyArn)).rejects.toThrow(why);
  });
});
