import { createHash, createPublicKey } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Fault } from '../../../lib/local/endpoint/traffic.ts';
import { keyVector, manifest, vectorFile } from '../../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { expectProblem, type RawReply, type RawRequest, rawRequest } from '../../helpers/raw-http.ts';
import { receive } from '../../helpers/receive.ts';
import { basic, Service, until } from '../../helpers/service.ts';

/** `POST /export`: every refusal is a problem document, and publishes nothing. */

let service: Service;
const json = { 'Content-Type': 'application/json' };
const alice = vectorFile('keys/alice.pub').toString();
const valid = { id: 'EGAD00000000001', visaToken: 'opaque', userPublicKey: alice };

beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

function call(init: RawRequest = {}, path = 'export/fega'): Promise<RawReply> {
  const headers = { Authorization: basic(service.connection.admin), ...json, ...init.headers };
  return rawRequest(service.connection.proxyUrl, path, { method: 'POST', ...init, headers });
}
const post = (body: unknown) => call({ body: typeof body === 'string' ? body : JSON.stringify(body) });

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

/** The point as SubjectPublicKeyInfo, by OpenSSL. */
function spki(crv: 'X25519' | 'Ed25519', hex: string): { pem: string; der: string } {
  const jwk = { kty: 'OKP', crv, x: Buffer.from(hex, 'hex').toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const der = key.export({ type: 'spki', format: 'der' }).toString('base64');
  return { pem: key.export({ type: 'spki', format: 'pem' }).toString(), der };
}

function sshLine(hex: string): string {
  const blob = Buffer.concat([Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0\x20', 'latin1'), Buffer.from(hex, 'hex')]);
  return `ssh-ed25519 ${blob.toString('base64')} me@host`;
}

async function sha256Of(source: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of source) hash.update(chunk);
  return hash.digest('hex');
}

function error(status: number, code: string): Fault {
  return { error: { status, code, message: 'secret-cause' } };
}

/** The document padded with white space to that many bytes. */
const padded = (bytes: number) => JSON.stringify(valid).padEnd(bytes);
const published = () => service.calls('export sqs SendMessage');

async function expectNothingPublished() {
  expect(published()).toBe(0);
  expect(await service.queueDepth(service.connection.outputs.ExportRequestsQueueUrl)).toBe(0);
  expect(await service.sql('select event from data_out.export_log')).toEqual([]);
}

describe('before anything was accepted', () => {
  afterEach(expectNothingPublished);

  describe('credentials', () => {
    const encoded = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    const wrong: readonly (readonly [string, (admin: { username: string; password: string }) => unknown])[] = [
      ['none', () => []],
      ['an empty header', () => ''],
      ['a wrong password', ({ username }) => encoded(`${username}:wrong`)],
      ['no password', ({ username }) => encoded(`${username}:`)],
      ['the password and one more character', (admin) => `${basic(admin).replace(/=+$/, '')}x`],
      ['an unknown user', ({ password }) => encoded(`stranger:${password}`)],
      ['the user name in capitals', ({ username, password }) => encoded(`${username.toUpperCase()}:${password}`)],
      ['no colon', () => encoded('admin')],
      ['no user', ({ password }) => encoded(`:${password}`)],
      ['what is not base64', () => 'Basic !!!'],
      ['the scheme alone', () => 'Basic'],
      ['clear text', ({ username, password }) => `Basic ${username}:${password}`],
      ['another scheme', (admin) => basic(admin).replace('Basic', 'Bearer')],
      ['the right ones twice', (admin) => [basic(admin), basic(admin)]],
      ['the right ones after wrong ones', (admin) => [encoded('stranger:x'), basic(admin)]],
      ['a NUL before the colon', ({ username, password }) => encoded(`${username}\0:${password}`)],
      ['a researcher’s', () => basic(service.connection.archiveUser)],
    ];

    test.each(wrong)('%s: 401 and a challenge', async (_, make) => {
      const Authorization = make(service.connection.admin) as string | string[];
      const reply = await call({ body: JSON.stringify(valid), headers: { Authorization } });
      expectProblem(reply, 401, 'unauthenticated');
      expect(reply.headers['www-authenticate']).toMatch(/^Basic realm="/);
    });

    test('a known user without the role: 403, without a challenge', async () => {
      const Authorization = basic(service.engine.accounts.withoutRole);
      const reply = await call({ body: JSON.stringify(valid), headers: { Authorization } });
      expectProblem(reply, 403, 'forbidden');
      expect(reply.headers['www-authenticate']).toBeUndefined();
    });

    test('are asked for before the body is looked at', async () => {
      expectProblem(await call({ body: '{', headers: { Authorization: 'Basic !' } }), 401, 'unauthenticated');
    });
  });

  test.each([
    ['another kind', 'POST', 'export/gdi'],
    ['the kind in capitals', 'POST', 'export/FEGA'],
    ['no kind', 'POST', 'export'],
    ['an empty kind', 'POST', 'export/'],
    ['a kind and more', 'POST', 'export/fega/x'],
    ['a slash after the kind', 'POST', 'export/fega/'],
    ['a kind in percent-encoding', 'POST', 'export/%66ega'],
    ['a kind by way of another', 'POST', 'export/gdi/../fega'],
    ['writing one export', 'PUT', 'export/fega/00000000-0000-4000-8000-000000000001'],
    ['a part of one export', 'GET', 'export/fega/00000000-0000-4000-8000-000000000001/files'],
    ['PUT', 'PUT', 'export/fega'],
    ['DELETE', 'DELETE', 'export/fega'],
    ['PATCH', 'PATCH', 'export/fega'],
    ['HEAD', 'HEAD', 'export/fega'],
    ['writing the listing', 'POST', 'files?inbox=false'],
    ['deleting a file', 'DELETE', 'stream/EGAF1-a.c4gh'],
    ['asking what is allowed', 'OPTIONS', 'files'],
    ['an unknown resource', 'GET', 'metadata/datasets'],
    ['the root', 'GET', ''],
  ])('%s, %s %s: 404', async (_, method, path) => {
    const reply = await call({ method, ...(method === 'POST' && { body: JSON.stringify(valid) }) }, path);
    if (method !== 'HEAD') expectProblem(reply, 404, 'not_found');
    else expect(reply).toMatchObject({ status: 404, text: '' });
  });

  const fieldsOf = (reply: RawReply) =>
    (expectProblem(reply, 400, 'invalid_request').violations ?? []).map(({ field }) => field);

  test.each([
    ['nothing', ''],
    ['half a document', '{"id":"EGAD1"'],
    ['two documents', `${JSON.stringify(valid)}${JSON.stringify(valid)}`],
    ['single quotes', "{'id':'EGAD1'}"],
    ['a comment', `${JSON.stringify(valid)} // dataset`],
    ['a form', 'id=EGAD1&visaToken=x'],
    ['UTF-16', Buffer.from(JSON.stringify(valid), 'utf16le').toString('latin1')],
    ['null', 'null'],
    ['a list', JSON.stringify([valid])],
    ['a string', JSON.stringify(JSON.stringify(valid))],
    ['a number', '1'],
    ['deep nesting', '['.repeat(60_000)],
    ['more than 64 KiB by one byte', padded(64 * 1024 + 1)],
    ['almost 6 MB', padded(5_900_000)],
  ])('a body of %s: 400', async (_, body) => {
    expect(fieldsOf(await post(body))).toEqual(['body']);
  });

  test.each([['text/plain'], ['application/x-www-form-urlencoded'], ['multipart/form-data; boundary=x']])(
    'content type %s: 400',
    async (type) => {
      const reply = await call({ body: JSON.stringify(valid), headers: { 'Content-Type': type } });
      expect(fieldsOf(reply)).toEqual(['Content-Type']);
    },
  );

  test('a body that the gateway (10 MB) or a function (6 MB) cannot take: 413', async () => {
    expectProblem(await post(padded(10 * 1024 * 1024 + 1)), 413, 'request_too_large');
    expectProblem(await post(padded(7 * 1024 * 1024)), 413, 'request_too_large');
  });

  test('the request id of a refusal is found in the logs, whether a function or the gateway refused', async () => {
    const refusals = [
      await post('{'),
      await call({ headers: { Authorization: 'Basic !' } }),
      await call({}, 'nowhere'),
    ];
    for (const { headers } of refusals) {
      const id = String(headers['x-amzn-requestid']);
      await until(async () => service.logs.find(({ line }) => line.includes(id)), 'a log line');
    }
  });

  const missing = ['id', 'visaToken', 'userPublicKey'].map((field) => [field, undefined] as const);
  const mistyped = ['id', 'type', 'visaToken', 'userPublicKey'].flatMap((field) =>
    [null, 5, true, [], {}, ['EGAD1'], ''].map((value) => [field, value] as const),
  );
  test.each([
    ...missing,
    ...mistyped,
    ['id', 'x'.repeat(257)],
    ['id', ' '],
    ['id', 'EGAD1\n'],
    ['id', 'EGAD1\0'],
    ['id', '\ud800'],
    ['type', 'dataset'],
    ['type', 'DATASETID'],
    ['visaToken', 'x'.repeat(16_385)],
    ['userPublicKey', 'x'.repeat(60_000)],
    ['colour', 'red'],
    ['datasetId', 'EGAD1'],
    ['__proto__', { id: 'EGAD2' }],
  ] as const)('%s: %j is 400 and named', async (field, value) => {
    expect(fieldsOf(await post({ ...valid, [field]: value }))).toEqual([field]);
  });

  test('every violation is named at once, and no value is repeated', async () => {
    const reply = await post({
      type: 'secret-1',
      visaToken: ['secret-2'],
      userPublicKey: 'secret-3',
      colour: 'secret-4',
    });
    expect(fieldsOf(reply).sort()).toEqual(['colour', 'id', 'type', 'userPublicKey', 'visaToken']);
    expect(reply.text).not.toContain('secret-');
  });

  const badFiles = manifest.keys.filter(({ expected, public: path }) => expected === 'error' && path);
  test.each([
    // RFC 7748 § 6.1: the points that make every shared secret zero; the last two are the first ones plus the prime.
    ['zero', base64('00'.repeat(32))],
    ['one', base64(`01${'00'.repeat(31)}`)],
    ['order 8', base64('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800')],
    ['order 8, the other', base64('5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157')],
    ['p - 1', base64(`ec${'ff'.repeat(30)}7f`)],
    ['p', base64(`ed${'ff'.repeat(30)}7f`)],
    ['p + 1', base64(`ee${'ff'.repeat(30)}7f`)],
    ['zero with the ignored bit', base64(`${'00'.repeat(31)}80`)],
    ['31 bytes', base64('07'.repeat(31))],
    ['33 bytes', base64('07'.repeat(33))],
    ['hex', '07'.repeat(32)],
    ['words', 'my public key'],
    [
      'an RSA line',
      `ssh-rsa ${Buffer.from('\0\0\0\x07ssh-rsa\0\0\0\x03\x01\0\x01\0\0\0\x01\x05').toString('base64')} me`,
    ],
    ['an ssh-ed25519 line of a point of small order', sshLine(`01${'00'.repeat(31)}`)],
    ['an Ed25519 SPKI', spki('Ed25519', 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a').pem],
    ['a private key', vectorFile('keys/alice.sec').toString()],
    ['an OpenSSH private key', vectorFile('keys/ssh_plain').toString()],
    ['two keys', `${alice}${vectorFile('keys/bob.pub')}`],
    ...badFiles.map(({ id, public: path = '' }) => [`the vector ${id}`, vectorFile(path).toString()]),
  ])('a public key that is %s: 400, and not repeated', async (_, userPublicKey = '') => {
    const reply = await post({ ...valid, userPublicKey });
    expect(fieldsOf(reply)).toEqual(['userPublicKey']);
    expect(reply.text).not.toContain(userPublicKey.slice(0, 40).trim() || 'never');
  });

  test.each([
    ['down', error(500, 'InternalFailure'), 3],
    ['throttling', error(400, 'RequestThrottled'), 3],
    ['breaking every connection', { drop: true }, 3],
    ['gone', error(400, 'AWS.SimpleQueueService.NonExistentQueue'), 1],
    ['forbidden', error(403, 'AccessDenied'), 1],
  ] as const)('a queue that is %s: 503 with Retry-After, no message', async (_, fault, attempts) => {
    const heal = service.engine.traffic.addFault(({ action }) => (action === 'SendMessage' ? fault : undefined));
    const reply = await post(valid).finally(heal);
    expectProblem(reply, 503, 'temporarily_unavailable');
    expect(reply.text).not.toContain('secret-cause');
    expect(published()).toBe(attempts);
    // None of the attempts had an effect.
    service.engine.traffic.resetCounters();
  });
});

describe('accepted requests', () => {
  const file = { path: 'sample.vcf', size: 3000 };
  beforeAll(async () => {
    await service.archive(valid.id, file.path, file.size);
    await service.setDataset(valid.id, 'released');
  });

  const text = (path: string) => vectorFile(path).toString();
  const alicePoint = keyVector('alice').public_key_hex ?? '';
  const aliceSpki = spki('X25519', alicePoint);
  test.each([
    ['Crypt4GH PEM', 'alice', alice],
    ['Crypt4GH PEM without line breaks', 'alice', alice.replaceAll('\n', '')],
    ['Crypt4GH PEM with CRLF', 'alice', text('keys/variants/alice_crlf.pub')],
    ['Crypt4GH PEM of another implementation', 'peer-htsget-bob', text('peers/htsget-rs/bob.pub')],
    ['base64 of the PEM', 'alice', Buffer.from(alice).toString('base64')],
    ['base64 of the 32 bytes', 'alice', base64(alicePoint)],
    ['base64 of the 32 bytes and a line break', 'alice', `${base64(alicePoint)}\n`],
    ['X25519 SPKI', 'alice', aliceSpki.pem],
    ['X25519 SPKI without line breaks', 'alice', aliceSpki.pem.replaceAll('\n', '')],
    ['X25519 SPKI of OpenSSL', 'peer-fega-reader-openssl', text('peers/fega-crypt4gh/reader.pub.pem')],
    ['base64 of the DER', 'alice', aliceSpki.der],
    ['an ssh-ed25519 line', 'ssh_plain', text('keys/ssh_plain.pub')],
    ['an ssh-ed25519 line without a comment', 'ssh_plain', text('keys/variants/ssh_plain_nocomment.pub')],
    ['an ssh-ed25519 line of a protected key', 'ssh_aes256ctr', text('keys/ssh_aes256ctr.pub')],
  ])('%s: 200, and the private key opens what is staged', async (form, keyId, userPublicKey) => {
    const visaToken = await service.visa({ subject: form, datasetId: valid.id });
    const requestId = acceptedId(await post({ ...valid, visaToken, userPublicKey }));
    await service.settled(requestId);
    const [listed] = await service.list(visaToken);
    const container = await service.download(visaToken, listed?.fileName ?? '');
    const privateKey = Buffer.from(keyVector(keyId).private_key_hex ?? '', 'hex');
    const received = await receive(ReadableStream.from([container]), privateKey);
    expect(received.plaintextSha256).toBe(await sha256Of(bytesOf(file)));
  });

  test.each([
    ['exactly 64 KiB', padded(64 * 1024)],
    ['a byte order mark', `\ufeff${JSON.stringify(valid)}`],
    ['identifiers and visas as long as can be', { ...valid, id: 'é'.repeat(256), visaToken: 'x'.repeat(16_384) }],
    ['the type in capitals', { ...valid, type: 'FILE_ID' }],
    ['a visa that is none', { ...valid, visaToken: 'Δ, no token' }],
  ])('%s: 200 and exactly one message', async (_, body) => {
    const before = published();
    acceptedId(await post(body));
    expect(published()).toBe(before + 1);
  });

  test('without a Content-Type, and with a charset', async () => {
    const body = JSON.stringify(valid);
    const Authorization = basic(service.connection.admin).replace('Basic', 'bASIC');
    const plain = { method: 'POST', body, headers: { Authorization } };
    acceptedId(await rawRequest(service.connection.proxyUrl, 'export/fega', plain));
    acceptedId(await call({ body, headers: { 'Content-Type': 'Application/JSON; charset=utf-8' } }));
  });

  test('a queue that fails twice and then takes the message: 200, one message', async () => {
    let failures = 0;
    const heal = service.engine.traffic.addFault(({ action }) => {
      if (action !== 'SendMessage' || failures === 2) return undefined;
      failures += 1;
      return error(500, 'InternalFailure');
    });
    const requestId = acceptedId(await post({ ...valid, visaToken: 'not one' }).finally(heal));
    expect(await service.settled(requestId)).toMatchObject([{ event: 'rejected', reason: 'visa_malformed_token' }]);
  });
});

function acceptedId(reply: RawReply): string {
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('requestId')]);
  expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  const { message, requestId } = JSON.parse(reply.text) as { message: string; requestId: string };
  expect(message).not.toBe('');
  expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  return requestId;
}
