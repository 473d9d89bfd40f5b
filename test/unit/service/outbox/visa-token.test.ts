import { describe, expect, test } from 'vitest';
import { visaToken } from '../../../../lib/service/outbox/caller.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

describe('the visa of a list or stream request', () => {
  test.each([
    [{ 'Proxy-Authorization': 'Bearer a.b.c' }],
    [{ 'proxy-authorization': 'bearer a.b.c' }],
    [{ 'X-GA4GH-Visa': 'a.b.c' }],
    [{ 'X-GA4GH-Visa': ' a.b.c ' }],
    [{ 'Proxy-Authorization': 'Bearer a.b.c', 'X-GA4GH-Visa': 'a.b.c' }],
    [{ 'Proxy-Authorization': '', 'X-GA4GH-Visa': 'a.b.c' }],
  ])('%j carries it', (headers) => {
    expect(visaToken(httpRequest({ headers }))).toBe('a.b.c');
  });

  test.each([
    [{ 'Proxy-Authorization': 'Bearer a.b.c', 'X-GA4GH-Visa': 'a.b.d' }],
    [{ 'Proxy-Authorization': ['Bearer a.b.c', 'Bearer a.b.c'] }],
    [{ 'X-GA4GH-Visa': ['a.b.c', 'a.b.d'] }],
  ])('%j is ambiguous', (headers) => {
    expect(() => visaToken(httpRequest({ headers }))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
