import { beforeEach, describe, expect, test } from 'vitest';
import { connectService, type RefusedError } from '../../../../lib/client/admin-page/service.ts';

/** What was asked, and what is answered. */
let asked: { readonly url: string; readonly init: RequestInit }[];
let answer: () => Promise<Response>;

beforeEach(() => {
  asked = [];
  answer = async () => Response.json({ exports: [], page: 0 });
});

async function ask(url: URL, init: RequestInit): Promise<Response> {
  asked.push({ url: url.href, init });
  return await answer();
}

describe('the routes are found from the address of the page', () => {
  test.each([
    [
      'https://abc.execute-api.eu-north-1.amazonaws.com/v1/admin',
      'https://abc.execute-api.eu-north-1.amazonaws.com/v1/',
    ],
    ['https://archive.example.org/data-out/admin/', 'https://archive.example.org/data-out/'],
    ['https://archive.example.org/admin?x=1#y', 'https://archive.example.org/'],
    ['http://127.0.0.1:8080/v1/admin', 'http://127.0.0.1:8080/v1/'],
  ])('%s', async (page, base) => {
    const service = connectService(page, 'fega-test', ask);
    await service.list(undefined, 0);
    await service.list('staging', 2);
    expect(asked.map(({ url }) => url)).toEqual([
      `${base}export/fega-test`,
      `${base}export/fega-test?state=staging&page=2`,
    ]);
  });
});

const service = connectService('https://archive.example.org/v1/admin', 'fega', ask);
const order = { id: 'EGAD1', type: 'datasetId', visaToken: 'a.b.c', userPublicKey: 'key' } as const;

test('an order is sent as JSON in the body, and nowhere else', async () => {
  answer = async () => Response.json({ message: 'accepted', requestId: 'request-1' });
  expect(await service.send(order)).toBe('request-1');
  const [{ url, init } = { url: '', init: {} }] = asked;
  expect(url).toBe('https://archive.example.org/v1/export/fega');
  expect(init).toMatchObject({ method: 'POST', headers: { 'Content-Type': 'application/json' }, cache: 'no-store' });
  expect(JSON.parse(String(init.body))).toEqual(order);
});

test('a refusal, a network that fails and a reply that is not JSON are told apart', async () => {
  const refused = async () =>
    await service.send(order).then(
      () => expect.unreachable(),
      (error: unknown) => (error as RefusedError).refusal.what,
    );
  answer = async () => Response.json({ code: 'throttled' }, { status: 429, headers: { 'Retry-After': '5' } });
  expect(await refused()).toContain('too many requests');
  answer = () => Promise.reject(new TypeError('Failed to fetch'));
  expect(await refused()).toBe('The service did not answer.');
  answer = async () => new Response('<html>Sign in to the network</html>');
  expect(await refused()).toBe('Another server than this service has answered.');
});

test.each([null, {}, { requestId: 5 }])('%j is not a reply to an order: it is not said to be sent', async (reply) => {
  answer = async () => Response.json(reply);
  await expect(service.send(order)).rejects.toThrow('Another server than this service has answered.');
});

test('a reply that is not one of this service is refused, not shown', async () => {
  answer = async () => Response.json({ exports: [{ requestId: 'request-1', state: 'eaten' }], page: 0 });
  await expect(service.list(undefined, 0)).rejects.toThrow('has no state that this version knows');
});
