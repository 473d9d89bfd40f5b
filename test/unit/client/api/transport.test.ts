import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect as open, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { networkError } from '../../../../lib/client/api/network-error.ts';
import { Transport, type TransportSettings } from '../../../../lib/client/api/transport.ts';
import { testCertificate } from '../../../helpers/test-certificate.ts';

const large = randomBytes(9 * 1024 * 1024 + 3);
const seen: { path: string; headers: IncomingHttpHeaders }[] = [];
const tunnels: { to: string; headers: IncomingHttpHeaders }[] = [];
let connections = 0;

const service = createTlsServer(testCertificate, (incoming, outgoing) => {
  seen.push({ path: incoming.url ?? '', headers: incoming.headers });
  if (incoming.url === '/large') outgoing.end(large);
  else if (incoming.url === '/headers') outgoing.setHeader('x-large', 'x'.repeat(20_000)).end();
  else if (incoming.url === '/elsewhere') outgoing.writeHead(307, { location: 'https://elsewhere.test/' }).end();
  else outgoing.end('hello');
});
service.on('connection', () => {
  connections += 1;
});
/** A forward proxy whose network knows `service.test`. */
const forward = createServer((_incoming, outgoing) => outgoing.writeHead(500).end());
forward.on('connect', (incoming, socket) => {
  const [, status] = /^refused-(\d+)\.test/.exec(incoming.url ?? '') ?? [];
  if (status !== undefined) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
  tunnels.push({ to: incoming.url ?? '', headers: incoming.headers });
  const target = open(portOf(service), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    target.pipe(socket).pipe(target);
  });
  target.on('error', () => socket.destroy());
  socket.on('error', () => target.destroy());
});

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const transports: Transport[] = [];

function transport(settings: Partial<TransportSettings> = {}): Transport {
  const made = new Transport({ userAgent: 'data-out/test', extraAuthorities: testCertificate.cert, ...settings });
  transports.push(made);
  return made;
}

beforeAll(async () => {
  for (const server of [service, forward]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  seen.length = 0;
  tunnels.length = 0;
});
afterAll(async () => {
  await Promise.all(transports.map((each) => each.close()));
  for (const server of [service, forward]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function bytesOf(reply: Awaited<ReturnType<Transport['send']>>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const url = (path = '/') => new URL(`https://localhost:${portOf(service)}${path}`);

describe('TLS', () => {
  test('an authority that the user names is trusted', async () => {
    const reply = await transport().send({ url: url() });
    expect([reply.status, await reply.text()]).toEqual([200, 'hello']);
    expect(seen[0]?.headers).toMatchObject({ 'user-agent': 'data-out/test', 'accept-encoding': 'identity' });
  });

  test('any other is not, and waiting would not help once the store of the system was tried', async () => {
    const send = () => transport({ extraAuthorities: undefined }).send({ url: url() });
    await expect(send()).rejects.toThrow('is not trusted');
    await expect(send()).rejects.toMatchObject({
      code: 'unavailable',
      retryable: false,
      remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });

  test('an answer in plain HTTP makes the address the error, and waiting would not help', async () => {
    await expect(transport().send({ url: new URL(`https://127.0.0.1:${portOf(forward)}/`) })).rejects.toMatchObject({
      code: 'unavailable',
      retryable: false,
      message: expect.stringMatching(/^127\.0\.0\.1:\d+: the server there does not speak https \(/),
      remedy: expect.stringMatching(/host and port.*http:\/\/ .*on this machine/),
    });
  });

  test('an answer with headers larger than the client reads is final', async () => {
    await expect(transport().send({ url: url('/headers') })).rejects.toMatchObject({
      code: 'unavailable',
      retryable: false,
      message: expect.stringContaining('UND_ERR_HEADERS_OVERFLOW'),
    });
  });

  test('large replies come whole, and the connection is used again', async () => {
    const client = transport();
    const before = connections;
    for (let round = 0; round < 5; round += 1) {
      const reply = await client.send({ url: url('/large') });
      expect((await bytesOf(reply)).equals(large)).toBe(true);
      await reply.discard();
    }
    // The library opens a second one when a request follows within the same turn of the event loop.
    expect(connections - before).toBeLessThanOrEqual(2);
  });
});

describe('a forward proxy', () => {
  const proxies = () => ({ HTTPS_PROXY: `http://user:password@127.0.0.1:${portOf(forward)}` });
  const named = new URL('https://service.test/large');

  test('is asked for a tunnel, with its own credentials and none of the service', async () => {
    const reply = await transport({ proxies: proxies() }).send({
      url: named,
      headers: { 'x-ga4gh-visa': 'visa' },
    });
    expect((await bytesOf(reply)).equals(large)).toBe(true);
    expect(tunnels.map(({ to }) => to)).toEqual(['service.test:443']);
    expect(tunnels[0]?.headers['proxy-authorization']).toBe(`Basic ${Buffer.from('user:password').toString('base64')}`);
    expect(JSON.stringify(tunnels)).not.toContain('visa');
    expect(seen[0]?.headers).toMatchObject({ 'x-ga4gh-visa': 'visa' });
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test.each([
    [407, false, /your forward proxy refuses refused-407\.test \(status 407\)/, /USER:PASSWORD/],
    [403, false, /your forward proxy refuses refused-403\.test \(status 403\)/, /NO_PROXY/],
    [
      502,
      true,
      /^refused-502\.test, through your forward proxy 127\.0\.0\.1:\d+ \(HTTPS_PROXY\): .* \(status 502\)$/,
      /NO_PROXY/,
    ],
  ])(
    'that answers %i is named as what refuses, and tried again (%s) where that may help',
    async (status, retryable, message, remedy) => {
      const client = transport({ proxies: proxies() });
      const refused = client.send({ url: new URL(`https://refused-${status}.test/`) });
      await expect(refused).rejects.toMatchObject({
        code: 'unavailable',
        retryable,
        message: expect.stringMatching(message),
        remedy: expect.stringMatching(remedy),
      });
      await expect(refused).rejects.not.toThrow(/password/);
    },
  );

  test('is left aside for this machine and for exceptions', async () => {
    const client = transport({ proxies: { ...proxies(), NO_PROXY: 'service.test' } });
    await (await client.send({ url: url() })).discard();
    await expect(client.send({ url: named })).rejects.toMatchObject({ code: 'unavailable' });
    expect(tunnels).toEqual([]);
  });
});

test('a limit of the address space is named, and is not taken for a failure of the network', () => {
  const error = new RangeError(
    'WebAssembly.instantiate(): Out of memory: Cannot allocate Wasm memory for new instance',
  );
  expect(networkError(error, url(), { known: false, proxy: undefined, withStore: true })).toMatchObject({
    retryable: false,
    message: expect.stringContaining('address space'),
    remedy: expect.stringContaining('ulimit -v'),
  });
});

test('a request that the user stops is "interrupted", before and during the reply', async () => {
  await expect(transport().send({ url: url(), signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'interrupted',
  });
  const stop = new AbortController();
  const reply = await transport().send({ url: url('/large'), signal: stop.signal });
  const read = async () => {
    for await (const _chunk of reply.body) stop.abort();
  };
  await expect(read()).rejects.toMatchObject({ code: 'interrupted' });
});
