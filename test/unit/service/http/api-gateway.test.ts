import { expect, test } from 'vitest';
import { headersOf, requestOf } from '../../../../lib/service/http/api-gateway.ts';
import { gatewayEvent } from '../../../helpers/gateway-event.ts';

test('a request has all values of repeated headers and parameters', () => {
  const request = requestOf(
    gatewayEvent({
      method: 'get',
      path: '/stream/a.c4gh',
      headers: { 'X-GA4GH-Visa': ['one', 'two'], Host: 'api.example' },
      query: { inbox: 'false', page: ['1', '2'] },
      pathParameters: { file: 'a.c4gh' },
      authorizer: { isAdmitted: 'true' },
    }),
  );
  expect(request).toEqual({
    requestId: 'gateway-request',
    method: 'GET',
    path: '/stream/a.c4gh',
    headers: new Map([
      ['x-ga4gh-visa', ['one', 'two']],
      ['host', ['api.example']],
    ]),
    query: new Map([
      ['inbox', ['false']],
      ['page', ['1', '2']],
    ]),
    pathParameters: new Map([['file', 'a.c4gh']]),
    body: undefined,
    authorizer: { isAdmitted: 'true' },
  });
});

test('a request without anything has empty maps', () => {
  const request = requestOf(gatewayEvent({}));
  expect([request.headers.size, request.query.size, request.pathParameters.size]).toEqual([0, 0, 0]);
  expect(request.authorizer).toEqual({});
});

test('a header under two spellings was given twice', () => {
  const multiValueHeaders = { Authorization: ['a'], authorization: ['b'] };
  expect(headersOf({ multiValueHeaders, headers: { authorization: 'b' } }).get('authorization')).toEqual(['a', 'b']);
});

test('without the multi-value map, the single-value map counts', () => {
  expect(headersOf({ multiValueHeaders: null, headers: { Authorization: 'a' } }).get('authorization')).toEqual(['a']);
  expect(headersOf({ headers: null }).size).toBe(0);
});

test.each([
  ['text', 'grün', false, 'grün'],
  ['base64', 'Z3LDvG4=', true, 'grün'],
])('a body as %s is bytes', (_, body, isBase64Encoded, expected) => {
  const request = requestOf(gatewayEvent({ body, isBase64Encoded }));
  expect(Buffer.from(request.body ?? []).toString('utf8')).toBe(expected);
});
