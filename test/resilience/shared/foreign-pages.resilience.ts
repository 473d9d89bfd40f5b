import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apis, call, documentedService, drs, expectStatus, good, headersOf } from '../../helpers/documented-calls.ts';
import { rawRequest } from '../../helpers/raw-http.ts';
import { Service } from '../../helpers/service.ts';

/**
 * What a browser lets pages of other sites do. The browser may hold an administrator's password and sends it along with
 * requests that such a page makes.
 */

let service: Service;

beforeAll(async () => {
  service = await Service.shared();
  await documentedService(service);
});
afterAll(() => service?.stop());

const operations = Object.entries(apis).flatMap(([api, { operations }]) => operations.map((one) => `${api} ${one}`));
/** Not safe by RFC 9110 § 9.2.1. A test holds that the documents have every route of the template. */
const unsafe = operations.filter((operation) => !/ (GET|HEAD|OPTIONS) /.test(operation));

const urlOf = (operation: string) =>
  operation.startsWith('proxy ') ? service.connection.proxyUrl : service.connection.dataOutUrl;

test('the routes that are not safe are these', () => {
  expect(unsafe.sort()).toEqual([
    `data-out POST /${drs}/objects/{object_id}`,
    `data-out POST /${drs}/objects/{object_id}/access/{access_id}`,
    'data-out POST /htsget/reads/{id}',
    'data-out POST /htsget/variants/{id}',
    'proxy POST /export/{archive_kind}',
  ]);
});

describe.each(unsafe)('%s', (operation) => {
  test.each([
    // The engine itself refuses an `Origin` of another machine.
    ['another origin', { Origin: 'http://localhost:1' }],
    ['another origin, in small letters', { origin: 'http://localhost:1' }],
    ['another scheme', { Origin: 'https://127.0.0.1' }],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['the same site, but another origin', { 'sec-fetch-site': 'same-site' }],
    ['nothing known', { 'Sec-Fetch-Site': '' }],
  ])('refuses a page of %s', async (_, headers) => {
    service.engine.traffic.resetCounters();
    const { text } = await expectStatus(403, operation, headersOf(operation, headers));
    const problem = JSON.parse(text);
    expect(problem.htsget ?? problem).toMatchObject({ code: 'foreign_origin' });
    expect(text).toContain('A web page of another origin sent this request.');
    expect(
      Object.keys(service.engine.traffic.counters()).filter((one) => /^(export|stream|drs|htsget) /.test(one)),
    ).toEqual([]);
  });

  test('takes its own page, and programs', async () => {
    const { origin } = new URL(urlOf(operation));
    for (const headers of [
      {},
      { Origin: origin, 'Sec-Fetch-Site': 'same-origin' },
      { Origin: origin },
      { 'Sec-Fetch-Site': 'none' },
    ]) {
      await expectStatus(200, operation, headersOf(operation, headers));
    }
  });
});

test('a page of another origin cannot export: no request that goes out without a preflight is taken', async () => {
  service.engine.traffic.resetCounters();
  // A form sends one of three media types, and a page can send a Blob without any.
  for (const type of [
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ]) {
    const { 'Content-Type': _, ...headers } = good['proxy POST /export/{archive_kind}']!.headers!;
    const reply = await rawRequest(service.connection.proxyUrl, 'export/fega', {
      method: 'POST',
      headers: { ...headers, ...(type && { 'Content-Type': type }), 'Sec-Fetch-Site': 'cross-site' },
      body: good['proxy POST /export/{archive_kind}']!.body!,
    });
    expect([type, reply.status]).toEqual([type, 403]);
  }
  expect(service.calls('export sqs SendMessage')).toBe(0);
});

test('no reply lets a page of another origin read it, or put it into a frame', async () => {
  for (const operation of Object.keys(good)) {
    const Origin = 'http://localhost:1';
    const preflight = { Origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x' };
    for (const reply of [
      await rawRequest(urlOf(operation), good[operation]!.path, { method: 'OPTIONS', headers: preflight }),
      await call(operation, headersOf(operation, { Origin })),
      await call(operation, headersOf(operation, { Authorization: 'Basic eDp5' })),
    ]) {
      const names = Object.keys(reply.headers);
      expect([operation, names.filter((name) => name.startsWith('access-control-'))]).toEqual([operation, []]);
      expect([operation, reply.headers['x-frame-options']]).toEqual([operation, 'DENY']);
    }
  }
});
