import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Invitation, Issuer } from '../../../../../lib/client/api/login/sign-in.ts';
import { Transport } from '../../../../../lib/client/api/transport.ts';
import { systemTiming, type Timing } from '../../../../../lib/common/timing.ts';
import { LoginProvider } from '../../../../helpers/login-provider.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

const visa = (dataset: string, more = {}) => unverifiedToken(visaClaims(dataset, more));
const visas = Array.from({ length: 200 }, (_, index) => visa(`EGAD${index}`));
const tokens = (signedIn: { readonly visas: readonly { readonly token: string }[] }) =>
  signedIn.visas.map(({ token }) => token);
let provider: LoginProvider;
let transport: Transport;
let controller: AbortController;
/** Seconds of each wait. The waits themselves are short. */
let waits: number[];

beforeEach(async () => {
  provider = await LoginProvider.start();
  provider.visas = visas;
  waits = [];
  controller = new AbortController();
  const sleep: Timing['sleep'] = (milliseconds, signal) => {
    waits.push(milliseconds / 1000);
    return systemTiming.sleep(Math.min(milliseconds, 20), signal);
  };
  transport = new Transport({ userAgent: 'test', timing: { ...systemTiming, sleep } });
});
afterEach(async () => {
  await transport.close();
  await provider.stop();
});

const login = () => ({ ...provider.login, issuers: ['https://issuer.example.org/'] });
const issuer = (at = login()) => new Issuer(at, transport, controller.signal);

/** Signs in while a person decides. */
async function signIn(decision: Parameters<LoginProvider['decide']>[1] | undefined, keep = false) {
  const seen: Invitation[] = [];
  const done = issuer().signIn(keep, (invitation) => {
    seen.push(invitation);
    if (decision) void provider.decide(invitation.code, decision);
  });
  return { ...(await done), seen };
}
const jane = { account: 'jane' };
/** Changes the token's claims. Nobody looks at its signature: it came from the issuer itself by TLS. */
const changedClaims = (token: unknown, change: (claims: Record<string, number>) => object) => {
  const [header, claims = '', signature] = String(token).split('.');
  const parsed = JSON.parse(Buffer.from(claims, 'base64url').toString());
  const changed = Buffer.from(JSON.stringify({ ...parsed, ...change(parsed) })).toString('base64url');
  return [header, changed, signature].join('.');
};

test('a person who approves gets all visas, and sees where to go', async () => {
  const { subject, refreshToken, seen, ...signedIn } = await signIn(jane);
  expect(tokens(signedIn)).toEqual(visas);
  expect({ subject, refreshToken }).toEqual({ subject: 'jane', refreshToken: undefined });
  expect(seen[0]).toMatchObject({ url: `${provider.issuer}/device`, code: expect.stringMatching(/^\w{4}-\w{4}$/) });
  expect(seen[0]?.directUrl).toContain(seen[0]?.code);
  expect(provider.grants.at(-1)?.get('code_verifier')).toMatch(/^[\w-]{43}$/);
});

describe('polling', () => {
  /** The token endpoint answers these errors before its own answers. */
  const answering = (...errors: string[]) => {
    let code = '';
    provider.change = (path, reply) => {
      if (path === '/device/auth') {
        code = String(reply.body.user_code);
        delete reply.body.interval;
      }
      const error = path === '/token' ? errors.shift() : undefined;
      // The person approves after the last of them.
      if (error && errors.length === 0) void provider.decide(code, jane);
      if (error === 'lose') return 'lose';
      if (error) Object.assign(reply, { status: 400, body: { error } });
      return undefined;
    };
  };

  test('waits five seconds by default, and five more after each slow_down for good', async () => {
    answering('authorization_pending', 'slow_down', 'authorization_pending', 'slow_down');
    await signIn(undefined);
    expect(waits).toEqual([5, 5, 10, 10, 15]);
  });

  test('waits as the issuer says, and until the person decides', async () => {
    provider.change = (path, { body }) => {
      if (path === '/device/auth') body.interval = 7;
      return undefined;
    };
    await expect(signIn('deny')).rejects.toMatchObject({ code: 'forbidden', message: 'the sign-in was refused' });
    expect(new Set(waits)).toEqual(new Set([7]));
  });

  test('ends when the issuer says that the code expired', async () => {
    answering('expired_token');
    await expect(signIn(undefined)).rejects.toMatchObject({ code: 'timeout' });
  });

  test('ends when the time of the code is over, whatever the issuer says', async () => {
    provider.change = (path, { body }) => {
      if (path === '/device/auth') body.expires_in = 0.1;
      return undefined;
    };
    await expect(signIn(undefined)).rejects.toMatchObject({ code: 'timeout' });
  });

  test('ends at once by an interruption', async () => {
    provider.change = (path, { body }) => {
      if (path === '/device/auth') body.interval = 60;
      return undefined;
    };
    const slow = new Transport({ userAgent: 'test' });
    const done = new Issuer(login(), slow, controller.signal).signIn(false, () => controller.abort());
    await expect(done).rejects.toMatchObject({ code: 'interrupted' });
    await slow.close();
  });
});

test('a clock that is two hours off does not matter', async () => {
  provider.change = (path, { body, headers }) => {
    headers.date = new Date(Date.now() - 7_200_000).toUTCString();
    const earlier = ({ iat = 0, exp = 0 }) => ({ iat: iat - 7200, exp: exp - 7200 });
    if (path === '/token' && body.id_token) body.id_token = changedClaims(body.id_token, earlier);
    return undefined;
  };
  expect((await signIn(jane)).visas).toHaveLength(200);
});

test('the date of a reply from a cache is not the time', async () => {
  provider.change = (path, { body, headers }) => {
    const cached = { date: new Date(Date.now() - 7_200_000).toUTCString(), age: '7200' };
    if (path.endsWith('openid-configuration')) Object.assign(headers, cached);
    if (path === '/token' && body.id_token) body.id_token = changedClaims(body.id_token, ({ iat }) => ({ nbf: iat }));
    return undefined;
  };
  expect((await signIn(jane)).visas).toHaveLength(200);
});

test('a sign-in without an id token is refused, because the person is not known', async () => {
  provider.change = (path, { body }) => {
    if (path === '/token') delete body.id_token;
    return undefined;
  };
  await expect(signIn(jane)).rejects.toThrow('gave no id token');
});

test.each([
  ['another issuer', () => ({ iss: 'https://evil.example.org' })],
  ['another client', () => ({ aud: 'other' })],
  ['another sign-in', () => ({ nonce: 'other' })],
  ['another person than userinfo', () => ({ sub: 'eve' })],
  ['another time', () => ({ exp: 1 })],
])('an id token for %s is refused', async (_what, change) => {
  provider.change = (path, { body }) => {
    if (path === '/token' && body.id_token) body.id_token = changedClaims(body.id_token, change);
    return undefined;
  };
  await expect(signIn(jane)).rejects.toMatchObject({ code: 'protocol' });
});

test('the configuration of another issuer is refused', async () => {
  provider.change = (path, { body }) => {
    if (path.endsWith('openid-configuration')) body.issuer = 'https://evil.example.org';
    return undefined;
  };
  await expect(signIn(jane)).rejects.toThrow('replied for a different issuer or person');
});

const affiliation = unverifiedToken({
  iss: 'https://issuer.example.org/',
  ga4gh_visa_v1: { type: 'AffiliationAndRole' },
});
test.each([
  ['no visas', undefined, undefined, /although it granted the scope ga4gh_passport_v1$/],
  ['an empty list', [], undefined, /although it granted the scope ga4gh_passport_v1$/],
  ['an affiliation alone', [affiliation], undefined, /although it granted the scope ga4gh_passport_v1$/],
  ['no visas and no scope', undefined, 'openid', /because it did not grant the scope ga4gh_passport_v1$/],
])('with %s, the message says which approval is missing', async (_what, given, scope, message) => {
  provider.visas = given;
  provider.change = (path, { body }) => {
    if (path === '/token' && scope) body.scope = scope;
    return undefined;
  };
  await expect(signIn(jane)).rejects.toThrow(message);
});

test('of several issuers, the visas of those that the service accepts are kept', async () => {
  provider.visas = [visa('EGAD1', { iss: 'https://other.example.org/' }), visa('EGAD1'), affiliation];
  const signedIn = await signIn(jane);
  expect(tokens(signedIn)).toEqual([visa('EGAD1')]);
  expect(signedIn.otherIssuers).toEqual(['https://other.example.org/']);
  provider.visas = [visa('EGAD1', { iss: 'https://other.example.org/' })];
  await expect(signIn(jane)).rejects.toThrow('the service accepts no visas of https://other.example.org/');
});

test('visas that the issuer does not give to this token are a fault of the issuer', async () => {
  provider.change = (path, reply) => {
    if (path === '/me') Object.assign(reply, { status: 401, body: { error: 'invalid_token' } });
    return undefined;
  };
  await expect(signIn(jane)).rejects.toMatchObject({ code: 'protocol' });
});

test.each([
  ['server_secret\u001b[31m', 'server_secret31m'],
  ['constructor', 'constructor'],
])('no error repeats a token or what the issuer says at length: %j', async (error, shown) => {
  provider.change = (path, reply) => {
    const body = { error, error_description: 'token eyJ.very.secret' };
    if (path === '/token') Object.assign(reply, { status: 400, body });
    return undefined;
  };
  await expect(signIn(jane)).rejects.toThrow(new RegExp(`refuses the request \\(${shown}\\)$`));
});

test('an issuer that is not encrypted is not asked', async () => {
  const open = { ...login(), issuer: 'http://login.example.org/' };
  await expect(issuer(open).signIn(false, () => undefined)).rejects.toThrow('is not encrypted');
});

describe('a sign-in that is kept', () => {
  const renewal = async () => {
    const { refreshToken = '', subject } = await signIn(jane, true);
    return { ...login(), refreshToken, subject };
  };

  test('is renewed, by a token that replaces the one before', async () => {
    const first = await renewal();
    provider.visas = [visa('EGAD-new')];
    const replaced: string[] = [];
    const replace = async ({ refreshToken }: { refreshToken: string }) => void replaced.push(refreshToken);
    expect(tokens(await issuer().renew(first, replace))).toEqual([visa('EGAD-new')]);
    expect(replaced).toEqual([expect.not.stringContaining(first.refreshToken)]);
    const [refreshToken = ''] = replaced;
    await issuer().renew({ ...first, refreshToken }, replace);
    await expect(issuer().renew(first, replace)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('stores the new token even if the visas do not come', async () => {
    const first = await renewal();
    provider.visas = undefined;
    const replaced: unknown[] = [];
    await expect(issuer().renew(first, async (next) => void replaced.push(next))).rejects.toThrow('gave no visas');
    expect(replaced).toHaveLength(1);
  });

  test('is not renewed for another person', async () => {
    const first = { ...(await renewal()), subject: 'eve' };
    await expect(issuer().renew(first, async () => undefined)).rejects.toMatchObject({ code: 'protocol' });
  });

  test('is forgotten by the issuer, where the issuer offers that', async () => {
    const first = await renewal();
    expect(await issuer().revoke(first)).toBe(true);
    await expect(issuer().renew(first, async () => undefined)).rejects.toMatchObject({ code: 'unauthenticated' });
    provider.change = (_path, { body }) => {
      delete body.revocation_endpoint;
      return undefined;
    };
    expect(await issuer().revoke(first)).toBe(false);
  });

  test('is not known to be forgotten after a reply of another form', async () => {
    const first = await renewal();
    provider.change = (path, reply) => {
      if (path === '/token/revocation') Object.assign(reply, { status: 204, body: null });
      return undefined;
    };
    await expect(issuer().revoke(first)).rejects.toMatchObject({ code: 'protocol' });
  });
});
