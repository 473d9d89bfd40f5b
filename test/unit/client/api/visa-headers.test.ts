import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connect, type ServiceConnection } from '../../../../lib/client/api/connection.ts';
import { DeliveryApi } from '../../../../lib/client/api/delivery-api.ts';
import type { ClientError } from '../../../../lib/client/api/errors.ts';
import { Transport } from '../../../../lib/client/api/transport.ts';
import { unverifiedToken, visaClaims } from '../../../helpers/unverified-token.ts';

/** What a server got that answers `reply`, and what the user was told. */
async function exchange(
  token: string,
  use: (service: ServiceConnection) => Promise<unknown>,
  { status = 200, body = '{"files":[]}' }: { readonly status?: number; readonly body?: string } = {},
) {
  const seen: IncomingHttpHeaders[] = [];
  const notes: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await using transport = new Transport({ userAgent: 'test' });
  const basic = async () => ({ username: 'central', password: 'pass' });
  const visa = async () => token;
  const note = (text: string) => notes.push(text);
  try {
    await use(connect({ proxyUrl: url, visa, basic, note, transport }));
    return { seen, notes };
  } catch (error) {
    return { seen, notes, error: error as ClientError };
  } finally {
    server.close();
  }
}

const list = (service: ServiceConnection) => new DeliveryApi(service).list().next();

/** Headers of a listing with a visa of so many bytes. */
async function headersWith(visaBytes: number): Promise<IncomingHttpHeaders> {
  const { seen } = await exchange('v'.repeat(visaBytes), list);
  return seen[0] ?? {};
}

const bytesOf = (headers: IncomingHttpHeaders) =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length + 4, 0);

test.each([1_000, 9_000])('with a visa of %i bytes all headers fit the 10,240 of API Gateway', async (bytes) => {
  const headers = await headersWith(bytes);
  expect(headers['x-ga4gh-visa']).toHaveLength(bytes);
  expect(headers.authorization).toBe('Basic Y2VudHJhbDpwYXNz');
  expect(bytesOf(headers)).toBeLessThan(10_240);
});

describe('a passport that does not fit the headers', () => {
  const visas = ['EGAD1', 'EGAD2', 'EGAD3'].map((id) => unverifiedToken(visaClaims(id, { padding: 'x'.repeat(3000) })));
  const passport = unverifiedToken({ iss: 'https://b.example.org/', sub: 'b', ga4gh_passport_v1: visas });

  test('is not sent: the listing has one of its visas, and the user is told once', async () => {
    const { seen, notes } = await exchange(passport, async (service) => {
      await list(service);
      await list(service);
    });
    expect(seen.map((headers) => visas.includes(String(headers['x-ga4gh-visa'])))).toEqual([true, true]);
    expect(notes).toEqual([expect.stringContaining(`The passport has ${passport.length} bytes`)]);
  });

  test('and of which no visa will do is not sent at all', async () => {
    const large = unverifiedToken(visaClaims('EGAD1', { padding: 'x'.repeat(8000) }));
    const { seen, error } = await exchange(unverifiedToken({ ga4gh_passport_v1: [large] }), list);
    expect(seen).toEqual([]);
    expect(error).toMatchObject({ code: 'usage', remedy: expect.stringContaining('--visa') });
    expect(error?.message).toMatch(/^the listing: \d+ bytes of headers .* 10240 .*; x-ga4gh-visa has \d+$/);
  });
});

test.each(['{"title":"Request refused","detail":"The request was refused.","code":"invalid_request"}', '{}'])(
  'a gateway that takes less answers 431: the user learns what is too large, and what to do',
  async (body) => {
    const { error } = await exchange('v'.repeat(1000), list, { status: 431, body });
    expect(error).toMatchObject({ code: 'usage', remedy: expect.stringContaining('--visa') });
    expect(error?.message).toContain('refused the headers as too large');
  },
);
