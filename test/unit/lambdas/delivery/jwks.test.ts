import { generateKeyPairSync } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';

const arns = ['arn:aws:kms:eu-north-1:123456789012:key/1', 'arn:aws:kms:eu-north-1:123456789012:key/2'];
const keys = new Map(arns.map((arn) => [arn, generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey]));
let asked: string[] = [];
let trouble: Error | undefined;

let handler: typeof import('../../../../lambdas/delivery/jwks.ts').handler;
let log: ReturnType<typeof captureOutput>;
beforeAll(async () => {
  vi.stubEnv('RECEIPT_KEY_ARNS', arns.join(','));
  vi.stubEnv('AWS_REGION', 'eu-north-1');
  vi.spyOn(KMSClient.prototype, 'send').mockImplementation(async (command: { input: object }) => {
    if (trouble) throw trouble;
    const { KeyId } = command.input as { KeyId: string };
    asked.push(KeyId);
    return { PublicKey: keys.get(KeyId)?.export({ format: 'der', type: 'spki' }) };
  });
  ({ handler } = await import('../../../../lambdas/delivery/jwks.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
beforeEach(() => {
  log = captureOutput();
  asked = [];
  trouble = undefined;
});
afterEach(() => log.restore());

const call = () => handler(gatewayEvent({ path: '/.well-known/jwks.json' }));

test('all keys are published without credentials, also for caches, and read once', async () => {
  const reply = await call();
  expect(reply.statusCode).toBe(200);
  expect(reply.headers).toMatchObject({
    'Content-Type': 'application/jwk-set+json',
    'Cache-Control': 'public, max-age=3600',
  });
  const published = (JSON.parse(reply.body) as { keys: Record<string, unknown>[] }).keys;
  expect(published.map(({ kid, use, alg, ...key }) => [key, typeof kid, use, alg])).toEqual(
    arns.map((arn) => [keys.get(arn)?.export({ format: 'jwk' }), 'string', 'sig', 'ES256']),
  );
  expect(await call()).toEqual(reply);
  expect(asked.sort()).toEqual(arns);
});
