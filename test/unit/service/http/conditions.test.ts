import { describe, expect, test } from 'vitest';
import { notModified, rangeIsMeant } from '../../../../lib/service/http/conditions.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

const etag = '"now"';
const sent = { etag, size: 4096 };
const request = (headers: Record<string, string | readonly string[]>) => httpRequest({ headers });

describe('If-Match', () => {
  test.each([etag, '*', ' * ', `"before", ${etag}`, `"before",${etag}`])('%s: continues', (value) => {
    expect(notModified(request({ 'if-match': value }), sent)).toBeUndefined();
  });
  test('in several headers is one list', () => {
    expect(notModified(request({ 'if-match': ['"before"', etag] }), sent)).toBeUndefined();
  });
  test.each(['"before"', 'now', `W/${etag}`, '', '"no', '"a", W/"now"'])('%s: there is another one', (value) => {
    expect(() => notModified(request({ 'if-match': value }), sent)).toThrow(
      expect.objectContaining({ code: 'precondition_failed' }),
    );
  });
  test('is looked at before If-None-Match', () => {
    expect(() => notModified(request({ 'if-match': '"before"', 'if-none-match': etag }), sent)).toThrow(
      expect.objectContaining({ code: 'precondition_failed' }),
    );
  });
});

describe('If-None-Match', () => {
  test.each([etag, '*', `W/${etag}`, `"before", W/${etag}`])('%s: 304 without a body', (value) => {
    const reply = notModified(request({ 'if-none-match': value }), sent);
    expect(reply).toMatchObject({
      status: 304,
      body: '',
      headers: { ETag: etag, 'X-File-Size': '4096', 'Cache-Control': 'no-store' },
    });
    expect(reply?.headers).not.toHaveProperty('Content-Length');
  });
  test.each(['"before"', 'now', ''])('%s: continues', (value) => {
    expect(notModified(request({ 'if-none-match': value }), sent)).toBeUndefined();
  });
});

test('without conditions it continues', () => {
  expect(notModified(request({}), sent)).toBeUndefined();
});

describe('If-Range', () => {
  test.each([{}, { 'if-range': etag }, { 'if-range': ` ${etag} ` }])('%o: the range counts', (headers) => {
    expect(rangeIsMeant(request(headers), etag)).toBe(true);
  });
  // Weak tags never match, and a date cannot: there is no Last-Modified (RFC 9110 § 13.1.5).
  test.each(['"before"', `W/${etag}`, 'Sat, 21 Nov 2026 07:00:00 GMT', 'now', '*', `${etag}, ${etag}`, ''])(
    '%s: the whole goes out',
    (value) => {
      expect(rangeIsMeant(request({ 'if-range': value }), etag)).toBe(false);
    },
  );
});
