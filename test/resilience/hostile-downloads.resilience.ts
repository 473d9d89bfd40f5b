import { readFile } from 'node:fs/promises';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTestIssuer } from '../helpers/issuer.ts';
import { expectProblem, type RawReply, type RawRequest, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service, until } from '../helpers/service.ts';

/** The credentials of list and stream, and tests that need an engine with other settings. */

let service: Service;
/** Archive credentials only when presented, URLs that live for a second. */
let lenient: Service;
let visa: string;
let lenientVisa: string;
let fromSilentQueue: Promise<RawReply>;
const name = 'EGAF00000000001-sample.bam.c4gh';
const theirs = 'EGAF00000000002-sample.bam.c4gh';
const content = 'crypt4gh: header and body';

beforeAll(async () => {
  const environment = { ARCHIVE_CREDENTIALS: 'when-presented', URL_LIFETIME_SECONDS: '1' };
  [service, lenient] = await Promise.all([Service.start(), Service.start({ environment })]);
  for (const one of [service, lenient]) {
    await one.putStaged('researcher', name, content);
    await one.putStaged('another recipient', theirs, 'theirs');
  }
  visa = await service.visa();
  lenientVisa = await lenient.visa();
});
afterAll(() => Promise.all([service?.stop(), lenient?.stop()]));

const listing = 'files?inbox=false';
const credentials = () => ({ Authorization: basic(service.connection.archiveUser) });

function call(path: string, headers: RawRequest['headers'], method = 'GET', to = service): Promise<RawReply> {
  return rawRequest(to.connection.proxyUrl, path, { method, headers: headers ?? {} });
}
function requestExport(): Promise<RawReply> {
  const { proxyUrl, admin } = lenient.connection;
  const userPublicKey = Buffer.alloc(32, 7).toString('base64');
  const body = JSON.stringify({ id: 'EGAD1', visaToken: 'opaque', userPublicKey });
  return rawRequest(proxyUrl, 'export/fega', { method: 'POST', headers: { Authorization: basic(admin) }, body });
}

function expectChallenge(reply: RawReply): void {
  const detail = expectProblem(reply, 401, 'unauthenticated').detail;
  expect(detail).toMatch(/visa|archive|Authorization/i);
  // The only challenge: Java's HttpClient does not answer one beside others.
  expect(reply.headers['www-authenticate']).toBe('Basic realm="data-out", charset="UTF-8"');
}

function namesIn(reply: RawReply): readonly string[] {
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"statusCode":200')]);
  expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  return (JSON.parse(reply.text) as { files: { fileName: string }[] }).files.map(({ fileName }) => fileName);
}

describe('Secrets Manager, when an administrator calls', () => {
  test.each([
    ['down', { error: { status: 500, code: 'InternalServiceError' } }],
    ['throttling', { error: { status: 400, code: 'ThrottlingException' } }],
    ['without the secret', { error: { status: 400, code: 'ResourceNotFoundException' } }],
    ['breaking every connection', { drop: true }],
  ] as const)('%s: 503 with Retry-After and no challenge, nothing published', async (_, fault) => {
    const heal = lenient.engine.traffic.addFault(({ action }) => (action === 'GetSecretValue' ? fault : undefined));
    const reply = await requestExport().finally(heal);
    expectProblem(reply, 503, 'temporarily_unavailable');
    expect(reply.headers['www-authenticate']).toBeUndefined();
    expect(lenient.calls('authorize-admin secretsmanager GetSecretValue')).toBeGreaterThan(0);
    expect(lenient.calls('export sqs SendMessage')).toBe(0);
  });

  // It takes as long as all attempts of the function together. The other tests of this file run meanwhile.
  afterAll(() => {
    const never = { delayMs: 20_000, drop: true };
    lenient.engine.traffic.addFault(({ action }) => (action === 'SendMessage' ? never : undefined));
    fromSilentQueue = requestExport();
  });
});

describe('a visa that is refused: 401 on list, stream and HEAD, without a look at database or bucket', () => {
  const now = Math.floor(Date.now() / 1000);
  const flip = (token: string, part: number) => {
    const parts = token.split('.');
    const bytes = Buffer.from(parts[part] ?? '', 'base64url');
    const at = bytes.length >> 1;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    parts[part] = bytes.toString('base64url');
    return parts.join('.');
  };
  const jwks = async () => await readFile(service.connection.issuer.jwksPath, 'utf8');
  const stranger = async () => {
    const { keys } = JSON.parse(await jwks()) as { keys: { kid: string }[] };
    return await makeTestIssuer({ iss: service.connection.issuer.iss, kid: keys[0]?.kid ?? '' });
  };
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  const cases: readonly (readonly [string, () => string | Promise<string>])[] = [
    ['expired', () => service.visa({ claims: { iat: now - 7200, exp: now - 3600 } })],
    ['not yet valid', () => service.visa({ claims: { nbf: now + 3600 } })],
    ['without an expiry', () => service.visa({ claims: { exp: undefined } })],
    ['of a foreign issuer', () => service.visa({ claims: { iss: 'https://foreign.example/' } })],
    ['of an issuer with almost that name', () => service.visa({ claims: { iss: 'https://issuer.data-out.test' } })],
    ['forged: a bit of the signature', () => flip(visa, 2)],
    ['forged: a bit of the claims', () => flip(visa, 1)],
    [
      'forged: another subject',
      () => {
        const [header, , signature] = visa.split('.');
        return [header, encode({ ...claimsOf(visa), sub: 'another recipient' }), signature].join('.');
      },
    ],
    ['forged: another key under that name and kid', async () => await (await stranger()).visa({ sub: 'researcher' })],
    [
      'forged: with its own key in the header',
      async () => {
        const issuer = await stranger();
        return await issuer.visa({ sub: 'researcher', header: { jwk: issuer.jwks.keys[0] } });
      },
    ],
    ['forged: alg none', () => `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claimsOf(visa))}.`],
    [
      'forged: the public key as an HMAC secret',
      async () =>
        await new SignJWT(claimsOf(visa)).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(await jwks())),
    ],
    ['without its signature', () => visa.split('.').slice(0, 2).join('.')],
    ['no token', () => 'opensesame'],
    ['dots', () => '..'],
    [
      'with conditions that nothing meets',
      () => {
        const claims = claimsOf(visa).ga4gh_visa_v1 as Record<string, unknown>;
        return service.visa({ claims: { ga4gh_visa_v1: { ...claims, conditions: [[{ type: 'ResearcherStatus' }]] } } });
      },
    ],
  ];

  test.each(cases)('%s', async (_, make) => {
    const token = await make();
    service.engine.traffic.resetCounters();
    const bearer = { ...credentials(), 'Proxy-Authorization': `Bearer ${token}` };
    const plain = { ...credentials(), 'X-GA4GH-Visa': token };
    for (const reply of [await call(listing, bearer), await call(`stream/${name}`, plain)]) {
      expectChallenge(reply);
      expect(reply.text).not.toContain(token.length > 20 ? token.slice(0, 20) : token + token);
    }
    expect(await call(`stream/${name}`, bearer, 'HEAD')).toMatchObject({ status: 401, text: '' });
    // The deny list is read again after a minute, whichever call comes then.
    const { 'authorize-outbox secretsmanager GetSecretValue': _denyList, ...looks } = service.engine.traffic.counters();
    expect(looks).toEqual({});
  });

  test('another scheme, a token among others, no token at all, the visa in the wrong header', async () => {
    const wrong: readonly Record<string, string>[] = [
      {},
      { 'Proxy-Authorization': '' },
      { 'X-GA4GH-Visa': '' },
      { 'Proxy-Authorization': 'Bearer' },
      { 'Proxy-Authorization': visa },
      { 'Proxy-Authorization': `Basic ${visa}` },
      { 'Proxy-Authorization': `Bearer ${visa} ${visa}` },
      { 'Proxy-Authorization': `Bearer ${visa},${visa}` },
      { 'X-GA4GH-Visa': `Bearer ${visa}` },
      { Authorization: `Bearer ${visa}` },
      { Cookie: `visa=${visa}` },
    ];
    for (const headers of wrong) expectChallenge(await call(listing, { ...credentials(), ...headers }));
    expectChallenge(await call(`${listing}&access_token=${visa}`, credentials()));
  });
});

test('both ways of sending the visa serve; both at once must agree, and neither may come twice', async () => {
  const bearer = { ...credentials(), 'Proxy-Authorization': `bearer  ${visa}` };
  const both = { ...bearer, 'X-GA4GH-Visa': visa };
  for (const headers of [bearer, both]) expect(namesIn(await call(listing, headers))).toEqual([name]);
  const other = await service.visa({ subject: 'another recipient' });
  const refused: readonly (readonly [RawRequest['headers'], string])[] = [
    [{ ...bearer, 'X-GA4GH-Visa': other }, 'X-GA4GH-Visa'],
    [{ ...credentials(), 'X-GA4GH-Visa': [visa, other] }, 'X-GA4GH-Visa'],
    [{ ...credentials(), 'Proxy-Authorization': [`Bearer ${visa}`, `Bearer ${visa}`] }, 'Proxy-Authorization'],
    [
      { Authorization: [credentials().Authorization, credentials().Authorization], 'X-GA4GH-Visa': visa },
      'Authorization',
    ],
  ];
  for (const [headers, field] of refused) {
    for (const path of [listing, `stream/${name}`]) {
      const { violations } = expectProblem(await call(path, headers), 400, 'invalid_request');
      expect(violations).toMatchObject([{ field }]);
    }
  }
});

test('a valid visa of another type opens no outbox; a token too long for the headers is refused by the gateway', async () => {
  const ga4gh_visa_v1 = {
    type: 'AffiliationAndRole',
    asserted: 1_700_000_000,
    value: 'faculty@example.org',
    source: 'https://example.org/',
    by: 'so',
  };
  const headers = { ...credentials(), 'X-GA4GH-Visa': await service.visa({ claims: { ga4gh_visa_v1 } }) };
  expect(namesIn(await call(listing, headers))).toEqual([]);
  expectProblem(await call(`stream/${name}`, headers), 404, 'not_found');
  const long = await service.visa({ claims: { note: 'x'.repeat(12_000) } });
  expectProblem(await call(listing, { ...credentials(), 'X-GA4GH-Visa': long }), 431, 'invalid_request');
});

describe('the central archive’s credentials', () => {
  const wrong = () => [
    basic({ ...service.connection.archiveUser, password: 'wrong' }),
    basic({ username: 'stranger', password: service.connection.archiveUser.password }),
    basic({ username: 'disabled', password: 'once right' }),
    basic(service.connection.admin),
    'Basic !!!',
    'Basic',
    `Basic ${Buffer.from('archive-user').toString('base64')}`,
    `Basic ${Buffer.from('\xe9:x', 'latin1').toString('base64')}`,
    `Bearer ${visa}`,
  ];

  test('required: missing, malformed, wrong, withdrawn are 401 on list, stream and HEAD', async () => {
    await service.addArchiveUser('disabled', 'once right');
    await service.sql("update data_out.archive_users set disabled_at = now() where username = 'disabled'");
    expectChallenge(await call(listing, { 'X-GA4GH-Visa': visa }));
    for (const Authorization of wrong()) {
      expectChallenge(await call(listing, { Authorization, 'X-GA4GH-Visa': visa }));
      expectChallenge(await call(`stream/${name}`, { Authorization, 'X-GA4GH-Visa': visa }));
    }
    const head = await call(`stream/${name}`, { 'X-GA4GH-Visa': visa }, 'HEAD');
    expect(head).toMatchObject({ status: 401, text: '' });
  });

  test('when presented: absent is accepted, right is accepted, wrong is still refused', async () => {
    const withVisa = (headers: Record<string, string>, path = listing) =>
      call(path, { ...headers, 'X-GA4GH-Visa': lenientVisa }, 'GET', lenient);
    expect(namesIn(await withVisa({}))).toEqual([name]);
    expect((await withVisa({}, `stream/${name}`)).status).toBe(307);
    expect(lenient.calls('authorize-outbox rds-data ExecuteStatement')).toBe(0);
    expect(namesIn(await withVisa({ Authorization: basic(lenient.connection.archiveUser) }))).toEqual([name]);
    for (const Authorization of [...wrong(), '']) expectChallenge(await withVisa({ Authorization }));
    expectChallenge(await call(listing, { Authorization: basic(lenient.connection.archiveUser) }, 'GET', lenient));
  });

  test('user names and passwords beyond ASCII, with colons, and bcrypt hashes of the central archive', async () => {
    const user = await service.addArchiveUser('Zoë', 'p:ä:∆ 🧬');
    // A published test vector of bcrypt: the password U*U with the salt CCCCCCCCCCCCCCCCCCCCC.
    await service.sql(`insert into data_out.archive_users (username, password_hash)
      values ('bcrypt', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW')`);
    for (const one of [user, { username: 'bcrypt', password: 'U*U' }]) {
      expect(namesIn(await call(listing, { Authorization: basic(one), 'X-GA4GH-Visa': visa }))).toEqual([name]);
    }
  });
});

test('a presigned URL ends when it says', async () => {
  const headers = { 'X-GA4GH-Visa': lenientVisa };
  const reply = await call(`stream/${name}?redirect=false`, headers, 'GET', lenient);
  const { url, expiresAt } = JSON.parse(reply.text) as { url: string; expiresAt: string };
  const ended = await until(async () => ((await fetch(url)).status === 403 ? Date.now() : undefined), 'the end', 5000);
  expect(ended).toBeGreaterThanOrEqual(Date.parse(expiresAt));
});

test('a queue that never answers: 503 within the 29 s that the gateway waits, no message', async () => {
  expectProblem(await fromSilentQueue, 503, 'temporarily_unavailable');
  expect(lenient.calls('export sqs SendMessage')).toBe(3);
  expect(await lenient.queueDepth(lenient.connection.outputs.ExportRequestsQueueUrl)).toBe(0);
  expect(await lenient.sql('select event from data_out.export_log')).toEqual([]);
});
