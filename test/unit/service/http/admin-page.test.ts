import { expect, test } from 'vitest';
import { adminPageReply } from '../../../../lib/service/http/administrator.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

const page = {
  html: '<html data-archive-kind="{archiveKind}">',
  scriptHash: "'sha256-c2NyaXB0'",
  styleHash: "'sha256-c3R5bGU='",
};

test('the page names the kind of the archive, may run its one module, and call its own origin', () => {
  const request = httpRequest({ authorizer: { isAdministrator: 'true' } });
  const { status, headers, body } = adminPageReply(request, page, 'fega-2');
  expect([status, body]).toEqual([200, '<html data-archive-kind="fega-2">']);
  expect(headers).toMatchObject({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy':
      "default-src 'none'; script-src 'sha256-c2NyaXB0'; style-src 'sha256-c3R5bGU='; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
});

test.each([{}, { isAdministrator: 'false' }, { isAdministrator: 'TRUE' }])(
  '%j is not an administrator',
  (authorizer) => {
    expect(() => adminPageReply(httpRequest({ authorizer }), page, 'fega')).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
  },
);
