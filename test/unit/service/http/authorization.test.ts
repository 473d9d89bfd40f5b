import { describe, expect, test } from 'vitest';
import { bearerToken, parseBasic, parseBearer } from '../../../../lib/service/http/authorization.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

const base64 = (text: string | Uint8Array) => Buffer.from(text as string).toString('base64');

describe('HTTP Basic', () => {
  test.each([
    // RFC 7617 § 2 and § 2.1
    ['Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', 'Aladdin', 'open sesame'],
    ['Basic dGVzdDoxMjPCow==', 'test', '123£'],
    ['bAsIc QWxhZGRpbjpvcGVuIHNlc2FtZQ==', 'Aladdin', 'open sesame'],
    ['Basic   QWxhZGRpbjpvcGVuIHNlc2FtZQ==  ', 'Aladdin', 'open sesame'],
    [`Basic ${base64('user:a:b::c')}`, 'user', 'a:b::c'],
    [`Basic ${base64('user:')}`, 'user', ''],
    [`Basic ${base64('jürgen:pässwörd')}`, 'jürgen', 'pässwörd'],
  ])('%s is read', (value, username, password) => {
    expect(parseBasic(value)).toEqual({ username, password });
  });

  test.each([
    ['nothing', ''],
    ['the scheme alone', 'Basic'],
    ['another scheme', `Bearer ${base64('user:password')}`],
    ['a scheme that begins like Basic', `Basically ${base64('user:password')}`],
    ['plain text', 'Basic user:password'],
    ['no padding', 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ'],
    ['stray bits before the padding', 'Basic dXNlcjpwYXNzd29yZB=='],
    ['two values', `Basic ${base64('user:password')}, Basic ${base64('user:password')}`],
    ['no colon', `Basic ${base64('userpassword')}`],
    ['bytes that are not UTF-8', `Basic ${base64(Uint8Array.from([0x75, 0x3a, 0xff, 0xfe]))}`],
    ['a NUL', `Basic ${base64('us\0er:password')}`],
  ])('%s is refused, and not repeated', (_, value) => {
    const parse = () => parseBasic(value);
    expect(parse).toThrow(expect.objectContaining({ code: 'unauthenticated' }));
    expect(parse).toThrow('Authorization is not well-formed HTTP Basic');
  });
});

describe('Bearer', () => {
  test.each([
    ['Bearer mF_9.B5f-4.1JqM', 'mF_9.B5f-4.1JqM'],
    ['bearer a.b.c', 'a.b.c'],
    ['BEARER  a~b+c/d== ', 'a~b+c/d=='],
  ])('%s is read', (value, token) => {
    expect(parseBearer(value, 'Proxy-Authorization')).toBe(token);
  });

  test.each([[''], ['Bearer'], ['Basic YTpi'], ['Bearer a b'], ['Bearer ä']])('%j is refused', (value) => {
    expect(() => parseBearer(value, 'Proxy-Authorization')).toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
  });
});

describe('the token of Authorization: Bearer', () => {
  test.each([[{ Authorization: 'Bearer a.b.c' }], [{ authorization: 'bearer   a.b.c ' }]])(
    '%j carries it',
    (headers) => {
      expect(bearerToken(httpRequest({ headers }))).toBe('a.b.c');
    },
  );

  test.each([
    [{}],
    [{ Authorization: '' }],
    [{ Authorization: 'Bearer' }],
    [{ Authorization: 'Basic YTpi' }],
    [{ 'Proxy-Authorization': 'Bearer a.b.c' }],
    [{ 'X-GA4GH-Visa': 'a.b.c' }],
  ])('%j carries none', (headers) => {
    expect(() => bearerToken(httpRequest({ headers }))).toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  });

  test('two are ambiguous', () => {
    const headers = { Authorization: ['Bearer a.b.c', 'Bearer a.b.d'] };
    expect(() => bearerToken(httpRequest({ headers }))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
