import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { beforeEach, describe, expect, test } from 'vitest';
import { entryHash } from '../../../../lib/contract/deny-list.ts';
import { secretDenyList } from '../../../../lib/service/stores/secrets.ts';
import { brokenConnection, httpHandler, testClient } from '../../../helpers/http-handler.ts';

const iss = 'https://issuer.example.org';
const seconds = 1000;
const minutes = 60 * seconds;
const denies = (sub: string) => JSON.stringify({ denied: [{ iss, sub }] });

let secret: { text: string; reads: number; now: number; failure: Error | undefined };
let list: ReturnType<typeof secretDenyList>;
beforeEach(() => {
  secret = { text: denies('ana'), reads: 0, now: 0, failure: undefined };
  const requestHandler = httpHandler(() => {
    secret.reads += 1;
    if (secret.failure) throw secret.failure;
    return { status: 200, body: JSON.stringify({ SecretString: secret.text }) };
  });
  list = secretDenyList({
    client: new SecretsManagerClient({ ...testClient, maxAttempts: 1, requestHandler }),
    secretArn: 'arn:aws:secretsmanager:eu-north-1:1:secret:denied',
    clock: () => new Date(secret.now),
  });
});

const isDenied = async (sub: string) => (await list()).has(entryHash({ iss, sub }));

test('is read once a minute', async () => {
  expect(await Promise.all([isDenied('ana'), isDenied('bo')])).toEqual([true, false]);
  secret.text = denies('bo');
  secret.now = 59 * seconds;
  expect(await isDenied('bo')).toBe(false);
  expect(secret.reads).toBe(1);
  secret.now = 60 * seconds;
  expect([await isDenied('ana'), await isDenied('bo')]).toEqual([false, true]);
  expect(secret.reads).toBe(2);
});

describe.each([
  ['cannot be reached', () => Object.assign(secret, { failure: brokenConnection() })],
  ['has been spoilt', () => Object.assign(secret, { text: '{"denied":[{"iss":"x"}]}' })],
])('a secret that %s', (_, break_) => {
  test('is served from memory until the list is five minutes old', async () => {
    await list();
    break_();
    secret.now = 5 * minutes - 1;
    expect(await isDenied('ana')).toBe(true);
    secret.now = 5 * minutes;
    await expect(list()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    Object.assign(secret, { text: denies('bo'), failure: undefined });
    expect(await isDenied('bo')).toBe(true);
  });

  test('is tried again every ten seconds, so that callers do not wait each time', async () => {
    await list();
    break_();
    secret.now = minutes;
    await Promise.all([list(), list()]);
    secret.now = minutes + 9 * seconds;
    await list();
    expect(secret.reads).toBe(2);
    secret.now = minutes + 10 * seconds;
    expect(await isDenied('ana')).toBe(true);
    expect(secret.reads).toBe(3);
  });

  test('and was never read: no token is accepted', async () => {
    break_();
    await expect(list()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    await expect(list()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
  });
});
