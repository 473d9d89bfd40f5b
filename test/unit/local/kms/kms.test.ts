import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { kms, SigningKeys } from '../../../../lib/local/kms/kms.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';

const signing = { KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' };
function deployment(...keys: readonly Readonly<Record<string, string>>[]) {
  const Resources = Object.fromEntries(
    keys.map((Properties, index) => [`Key${index}`, { Type: 'AWS::KMS::Key', Properties }]),
  );
  return deploy([{ name: 'S', region: undefined, assets: new Map(), template: { Resources } }], {
    queueUrl: String,
    apiUrl: String,
  });
}
const arnsOf = (deployed: ReturnType<typeof deployment>) =>
  deployed.resources('AWS::KMS::Key').map((key) => key.attribute('Arn'));

const deployed = deployment(signing, signing, {});
const [first = '', second = ''] = arnsOf(deployed);
const service = kms(new SigningKeys(deployed, undefined));

async function call(action: string, input: object): Promise<Record<string, string>> {
  const body = Buffer.from(JSON.stringify(input));
  const headers = { 'x-amz-target': `TrentService.${action}` };
  const parsed = service.parse('/', headers, body, '');
  const reply = await service.handle(parsed.action, parsed.input, body, headers);
  return JSON.parse(reply.body) as Record<string, string>;
}
const message = Buffer.from('what is signed');
const Message = createHash('sha256').update(message).digest('base64');
const order = (KeyId: string) => ({ KeyId, Message, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' });
async function publicKeyOf(KeyId: string) {
  const { PublicKey = '' } = await call('GetPublicKey', { KeyId });
  return createPublicKey({ key: Buffer.from(PublicKey, 'base64'), format: 'der', type: 'spki' });
}

describe('Sign', () => {
  test('signs a digest with the key that is named, as OpenSSL checks it', async () => {
    const signature = Buffer.from((await call('Sign', order(first))).Signature ?? '', 'base64');
    expect(verify('sha256', message, await publicKeyOf(first), signature)).toBe(true);
    expect(verify('sha256', message, await publicKeyOf(second), signature)).toBe(false);
  });

  test.each([
    ['a message that is not a digest', { MessageType: 'RAW' }],
    ['a digest of another length', { Message: Buffer.alloc(31).toString('base64') }],
  ])('refuses %s', async (_, change) => {
    await expect(call('Sign', { ...order(first), ...change })).rejects.toMatchObject({ code: 'ValidationException' });
  });
});

test('each action needs its permission on its key', () => {
  const permissions = (action: string) =>
    service.parse('/', { 'x-amz-target': `TrentService.${action}` }, Buffer.from(JSON.stringify(order(first))), '')
      .permissions;
  expect(permissions('Sign')).toEqual([{ action: 'kms:Sign', resource: first }]);
  expect(permissions('GetPublicKey')).toEqual([{ action: 'kms:GetPublicKey', resource: first }]);
});
