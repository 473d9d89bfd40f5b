import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect as open } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../../lib/client/api/connection.ts';
import { DeliveryApi } from '../../../../lib/client/api/delivery-api.ts';
import { Transport } from '../../../../lib/client/api/transport.ts';
import { all, DownloadWorld } from '../../../helpers/download-world.ts';

let world: DownloadWorld;
beforeAll(async () => {
  world = await DownloadWorld.start();
});
afterEach(() => world.clear());
afterAll(() => world?.stop());

describe('the listing', () => {
  test('is followed to its last page, each behind the last name of the one before', async () => {
    const names = Array.from({ length: 20_001 }, (_, index) => `${String(index).padStart(5, '0')}.c4gh`);
    for (const name of names) world.server.put(name, Buffer.alloc(0));
    const files = await all(world.proxy().list());
    expect(files.map(({ name }) => name)).toEqual(names);
    expect(world.server.listedAfter).toEqual(['', '09999.c4gh', '19999.c4gh']);
    expect(files[0]).toEqual({
      name: '00000.c4gh',
      size: 0,
      modified: new Date(1_700_000_000_000),
      expires: new Date('2026-12-22T00:00:00Z'),
    });
  });

  test('that breaks off is asked for again, and never taken for a whole one', async () => {
    for (let index = 0; index < 500; index += 1) world.server.put(`${index}.c4gh`, Buffer.alloc(0));
    world.faults.break({ on: 'api', fault: { kind: 'cut', bytes: 20_000 }, times: 2 });
    expect(await all(world.proxy().list())).toHaveLength(500);
    expect(world.pauses).toHaveLength(2);
  });
});

test('a service that knows no pages does not keep the client busy for ever', async () => {
  for (let index = 0; index < 10_000; index += 1) world.server.put(`${index}.c4gh`, Buffer.alloc(0));
  world.server.hasPages = false;
  await expect(all(world.proxy().list())).rejects.toMatchObject({ code: 'protocol' });
  expect(world.faults.requests).toHaveLength(2);
});

const connection = (visas: string[]) => {
  const basic = async () => ({ username: 'user', password: 'good-password' });
  const visa = async () => `${visas.length > 1 ? visas.shift() : visas[0]}\n`;
  const transport = new Transport({ userAgent: 'test' });
  return new DeliveryApi(connect({ proxyUrl: world.faults.url, visa, basic, transport }));
};

describe('credentials', () => {
  test('that were renewed meanwhile are read again and sent again', async () => {
    await all(connection(['expired', 'good-visa']).list());
    expect(world.faults.requests.map(({ status }) => status)).toEqual([401, 200]);
  });

  test('that are refused and unchanged are not sent again; the service is quoted', async () => {
    await expect(all(connection(['expired-visa']).list())).rejects.toMatchObject({
      code: 'unauthenticated',
      status: 401,
      message: 'the listing: the visa has expired (request request-1)',
    });
    expect(world.faults.requests).toHaveLength(1);
  });

  test('that a gateway refuses are refused with the id of its header where no body has one', async () => {
    const headers = { 'x-amzn-requestid': 'request-2' };
    world.faults.break({ on: 'api', fault: { kind: 'answer', status: 403, headers } });
    await expect(all(connection(['good-visa']).list())).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('(request request-2)'),
    });
  });

  test('that are always others are not sent for ever', async () => {
    const visas = Array.from({ length: 100 }, (_, index) => `expired-${index}`);
    await expect(all(connection(visas).list())).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(world.faults.requests.length).toBeLessThan(5);
  });
});

describe('replies that no such service gives', () => {
  test.each([
    ['a redirection', 302, { location: 'http://127.0.0.1:9/' }],
    ['an empty page', 200, { 'content-type': 'text/html' }],
  ])('such as %s are "protocol", and not followed', async (_what, status, headers) => {
    world.faults.break({ on: 'api', fault: { kind: 'answer', status, headers } });
    await expect(all(world.proxy().list())).rejects.toMatchObject({ code: 'protocol' });
    expect(world.faults.requests).toHaveLength(1);
  });

  test('an export whose answer was changed on the way may have been taken, and is sent once', async () => {
    world.faults.break({ on: 'api', fault: { kind: 'answer', status: 200, headers: { 'content-type': 'text/html' } } });
    const order = { id: 'EGAD1', type: 'datasetId', kind: 'fega', visa: 'a.b.c', publicKey: 'key' } as const;
    await expect(connection(['good-visa']).export(order)).rejects.toMatchObject({
      code: 'unavailable',
      mayBeDone: true,
    });
    expect(world.faults.requests).toHaveLength(1);
  });

  test.each([
    [403, 'forbidden'],
    [404, 'not_found'],
    [400, 'usage'],
  ])('status %d without a word is "%s"', async (status, code) => {
    world.faults.break({ on: 'api', fault: { kind: 'answer', status } });
    const remedy = expect.stringContaining('Check the address');
    await expect(world.proxy().location('a')).rejects.toMatchObject({ code, status, remedy });
  });
});

test('the place of a file on this machine is only taken from a service on this machine', async () => {
  world.server.put('a.c4gh', Buffer.from('one'));
  // Requests to the service go through the loopback, although its address is that of another machine.
  const { port } = new URL(world.faults.url);
  const url = `http://service.test:${port}/v1/`;
  await using transport = new Transport({
    ...{ userAgent: 'test', insecureHttp: true, proxies: { http_proxy: `http://127.0.0.1:${await tunnelTo(port)}` } },
  });
  const basic = async () => ({ username: 'user', password: 'good-password' });
  const elsewhere = new DeliveryApi(connect({ proxyUrl: url, visa: async () => 'good-visa', basic, transport }));
  await expect(elsewhere.location('a.c4gh')).rejects.toMatchObject({
    code: 'protocol',
    message: '"a.c4gh": the service gave an address on this machine',
  });
  expect((await world.proxy().location('a.c4gh')).size).toBe(3);
});

/** A forward proxy whose tunnels all lead to one port of this machine. */
async function tunnelTo(port: string): Promise<string> {
  const server = createServer().on('connect', (_incoming, socket) => {
    const target = open(Number(port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    target.on('error', () => socket.destroy());
    socket.on('error', () => target.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

describe('an address', () => {
  const transport = new Transport({ userAgent: 'test' });

  test.each(['http://service.test/v1', 'http://127.0.0.1.evil.test/v1'])('%s is refused', (proxyUrl) => {
    expect(() => connect({ proxyUrl, transport })).toThrow(expect.objectContaining({ code: 'usage' }));
  });

  test.each([
    ['https://service.test/v1', 'https://service.test/v1/'],
    ['http://localhost:3000', 'http://localhost:3000/'],
    ['http://[::1]:3000/v1/', 'http://[::1]:3000/v1/'],
  ])('%s is %s', (proxyUrl, expected) => {
    expect(connect({ proxyUrl, transport }).proxyUrl?.href).toBe(expected);
  });
});
