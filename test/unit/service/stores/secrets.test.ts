import { readFileSync } from 'node:fs';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import type { ArchiveKeys } from '../../../../lib/service/archive/ports.ts';
import { secretArchiveKeys } from '../../../../lib/service/stores/archive-keys.ts';
import { MalformedSecretError, secretAdministrators } from '../../../../lib/service/stores/secrets.ts';
import { brokenConnection, httpHandler, testClient, textOf } from '../../../helpers/http-handler.ts';

const secretArn = 'arn:aws:secretsmanager:eu-north-1:1:secret:s';

/** Secrets Manager with one secret, and a clock. */
function secretsManager(value: unknown) {
  const state = { text: typeof value === 'string' ? value : JSON.stringify(value), reads: 0, now: 0 };
  let failure: Error | undefined;
  const requestHandler = httpHandler((request) => {
    expect(request.headers['x-amz-target']).toBe('secretsmanager.GetSecretValue');
    expect(JSON.parse(textOf(request))).toEqual({ SecretId: secretArn });
    state.reads += 1;
    if (failure) throw failure;
    return { status: 200, body: JSON.stringify({ ARN: secretArn, SecretString: state.text }) };
  });
  return {
    state,
    fail: (error: Error | undefined) => {
      failure = error;
    },
    options: {
      client: new SecretsManagerClient({ ...testClient, maxAttempts: 1, requestHandler }),
      secretArn,
      clock: () => new Date(state.now),
    },
  };
}

const seconds = 1000;

describe('secretAdministrators', () => {
  const users = [
    { username: 'root', password: '$scrypt$ln=15,r=8,p=1$c2FsdA$aGFzaA', roles: ['ADMIN'] },
    { username: 'reader', password: '$scrypt$x', roles: [] },
  ];

  it('finds a user with hash and roles', async () => {
    const administrators = secretAdministrators(secretsManager({ users }).options);
    expect(await administrators.find('root')).toEqual({
      passwordHash: '$scrypt$ln=15,r=8,p=1$c2FsdA$aGFzaA',
      roles: ['ADMIN'],
    });
    expect(await administrators.find('Root')).toBeUndefined();
    expect(await administrators.find('__proto__')).toBeUndefined();
  });

  it('reads the secret once a minute, alone or at once', async () => {
    const { state, options } = secretsManager({ users });
    const administrators = secretAdministrators(options);
    await Promise.all(['root', 'unknown', 'reader'].map((name) => administrators.find(name)));
    state.now = 59 * seconds;
    await administrators.find('reader');
    expect(state.reads).toBe(1);
    state.text = JSON.stringify({ users: [] });
    state.now = 60 * seconds;
    expect(await administrators.find('root')).toBeUndefined();
    expect(state.reads).toBe(2);
  });

  it('finds a user who was added a moment ago, without reading again for every unknown name', async () => {
    const { state, options } = secretsManager({ users: [] });
    const administrators = secretAdministrators(options);
    await administrators.find('root');
    state.text = JSON.stringify({ users });
    state.now = 9 * seconds;
    expect(await administrators.find('root')).toBeUndefined();
    expect(state.reads).toBe(1);
    state.now = 10 * seconds;
    expect((await administrators.find('root'))?.roles).toEqual(['ADMIN']);
    for (const name of ['stranger', 'stranger', 'unknown']) await administrators.find(name);
    expect(state.reads).toBe(2);
  });

  it('accepts the empty secret of a new deployment', async () => {
    expect(await secretAdministrators(secretsManager({ users: [] }).options).find('root')).toBeUndefined();
  });

  it('says when Secrets Manager cannot answer, and asks again the next time', async () => {
    const { state, options, fail } = secretsManager({ users });
    const administrators = secretAdministrators(options);
    fail(brokenConnection());
    await expect(administrators.find('root')).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
    fail(undefined);
    expect((await administrators.find('root'))?.roles).toEqual(['ADMIN']);
    expect(state.reads).toBe(2);
  });

  it.each([
    ['not JSON', 'hunter2', 'secret: invalid_type'],
    ['no users', { admins: 'hunter2' }, 'users: invalid_type'],
    ['a user without roles', { users: [{ username: 'a', password: 'hunter2' }] }, 'users.0.roles: invalid_type'],
    [
      'a password that is not text',
      { users: [{ username: 'a', password: ['hunter2'], roles: [] }] },
      'users.0.password',
    ],
  ])('names the place of a problem and not the value: %s', async (_name, value, problem) => {
    const failure = await secretAdministrators(secretsManager(value).options)
      .find('a')
      .catch((error) => error);
    expect(failure).toBeInstanceOf(MalformedSecretError);
    expect(failure.message).toContain(problem);
    expect(`${failure.message}${failure.stack}${JSON.stringify(failure)}`).not.toContain('hunter2');
  });
});

describe('secretArchiveKeys', () => {
  const text = (name: string) => readFileSync(new URL(`../../../vectors/keys/${name}`, import.meta.url), 'utf8');
  // Keys of test/vectors/manifest.json; the second is encrypted with scrypt.
  const alice = {
    secret: { privateKey: text('alice.sec') },
    privateKey: '8062459250a19e8bf5190255feac514b745b4495d038cab11742b9cef83f82ef',
    publicKey: '314a62e623ac921d11b249d1e691f1640930ac26434cd48215e77428e3e5b84b',
    // printf <hex> | xxd -r -p | sha256sum
    fingerprint: 'e5b9599f86f6422a636ca8cf260f9dd21b40a300b6fa716627ddf621099261f6',
  };
  const bob = {
    secret: { privateKey: text('bob.sec'), passphrase: 'bob test passphrase' },
    privateKey: 'a9f349dab27fb00946fc0838b93e2dbc8ee471f04c08f5ffed1f3aae7308b5eb',
    publicKey: 'a4f0b86416d6549e2be0ec3c67c70c4d3481c5f216f6c747659609cf8f6d0832',
    fingerprint: 'a4551fac8d8aa507ced170425dc003d728cb69a9f828d40ba8db394ce2b14bd0',
  };
  const both = { keys: [alice.secret, bob.secret] };
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const candidates = async (keys: ArchiveKeys, hash: string | undefined) =>
    (await keys.candidates(hash)).map(({ privateKey, publicKey }) => [hex(privateKey), hex(publicKey)]);

  it('knows a key by the hex of its public key and by the SHA-256 of it, in either case', async () => {
    const keys = secretArchiveKeys(secretsManager(both).options);
    for (const key of [alice, bob]) {
      for (const hash of [key.publicKey, key.fingerprint, key.publicKey.toUpperCase()]) {
        expect(await candidates(keys, hash)).toEqual([[key.privateKey, key.publicKey]]);
      }
    }
  });

  it('gives all keys where the catalogue names none, or one in its own form', async () => {
    const keys = secretArchiveKeys(secretsManager(both).options);
    const all = [alice, bob].map((key) => [key.privateKey, key.publicKey]);
    expect(await candidates(keys, undefined)).toEqual(all);
    expect(await candidates(keys, 'key-2024')).toEqual(all);
  });

  it('reads and parses the secret once in five minutes', async () => {
    const { state, options } = secretsManager(both);
    const keys = secretArchiveKeys(options);
    await Promise.all([alice, bob].map((key) => candidates(keys, key.publicKey)));
    state.now = 299 * seconds;
    await candidates(keys, undefined);
    expect(state.reads).toBe(1);
    state.now = 300 * seconds;
    await candidates(keys, undefined);
    expect(state.reads).toBe(2);
  });

  it('finds a key that was added a moment ago, without reading again for every unknown hash', async () => {
    const { state, options } = secretsManager({ keys: [alice.secret] });
    const keys = secretArchiveKeys(options);
    await candidates(keys, alice.publicKey);
    state.text = JSON.stringify(both);
    state.now = 1 * seconds;
    expect(await candidates(keys, bob.fingerprint)).toEqual([[bob.privateKey, bob.publicKey]]);
    expect(state.reads).toBe(2);
    await Promise.all([1, 2, 3].map(() => candidates(keys, 'stranger')));
    await candidates(keys, 'stranger');
    expect(state.reads).toBe(3);
    state.now = 11 * seconds;
    await candidates(keys, 'stranger');
    expect(state.reads).toBe(4);
  });

  it('says that a new deployment has no key yet', async () => {
    const keys = secretArchiveKeys(secretsManager({ keys: [] }).options);
    await expect(keys.candidates(undefined)).rejects.toThrow('has no archive key yet');
  });

  it.each([
    ['a wrong passphrase', { ...bob.secret, passphrase: 'hunter2' }],
    ['a missing passphrase', { privateKey: bob.secret.privateKey }],
    ['no private key', { privateKey: 'hunter2' }],
  ])('names the key that cannot be used, and shows nothing of it: %s', async (_name, key) => {
    const keys = secretArchiveKeys(secretsManager({ keys: [alice.secret, key] }).options);
    const failure = await keys.candidates(undefined).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MalformedSecretError);
    const shown = `${failure}${failure instanceof Error ? `${failure.stack}${String(failure.cause)}` : ''}`;
    expect(shown).toContain('keys.1');
    for (const secret of ['hunter2', ...key.privateKey.split('\n').filter((line) => line && !line.startsWith('-'))]) {
      expect(shown).not.toContain(secret);
    }
  });
});
