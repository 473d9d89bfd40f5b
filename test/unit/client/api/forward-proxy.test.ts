import { expect, test } from 'vitest';
import { proxyFor } from '../../../../lib/client/api/forward-proxy.ts';

const proxy = 'http://proxy.test:3128';
const proxied = 'http://proxy.test:3128/';

test.each([
  ['https://api.example.org/v1/', {}, undefined],
  ['https://api.example.org/v1/', { HTTPS_PROXY: proxy }, proxied],
  ['http://api.example.org/v1/', { HTTPS_PROXY: proxy }, undefined],
  ['http://api.example.org/v1/', { http_proxy: proxy }, proxied],
  // This machine itself.
  ['http://127.0.0.1:3000/', { http_proxy: proxy, HTTPS_PROXY: proxy }, undefined],
  ['https://localhost.example.org/', { HTTPS_PROXY: proxy }, proxied],
  // Exceptions.
  ['https://api.example.org/', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
  ['https://api.example.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'example.org' }, undefined],
  ['https://api.example.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'a.test, *.EXAMPLE.org' }, undefined],
  ['https://api.example.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'api.example.org:8443' }, proxied],
  ['https://api.example.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'ample.org' }, proxied],
  ['https://10.0.0.8/', { HTTPS_PROXY: proxy, NO_PROXY: '10.0.0.8' }, undefined],
  // As curl has them (CURLOPT_NOPROXY): IPv6 without brackets, in any spelling, and networks.
  ['https://[2001:db8::1]/', { HTTPS_PROXY: proxy, NO_PROXY: '2001:db8::1' }, undefined],
  ['https://[2001:db8::1]/', { HTTPS_PROXY: proxy, NO_PROXY: '2001:0DB8:0:0::1' }, undefined],
  ['https://[2001:db8::1]/', { HTTPS_PROXY: proxy, NO_PROXY: '[2001:db8::1]:443' }, undefined],
  ['https://[2001:db8::1]/', { HTTPS_PROXY: proxy, NO_PROXY: '2001:db8::/32' }, undefined],
  ['https://10.1.2.3/', { HTTPS_PROXY: proxy, NO_PROXY: '192.168.0.0/16,10.0.0.0/8' }, undefined],
  ['https://api.example.org/', { HTTPS_PROXY: proxy, NO_PROXY: '0.0.0.0/0' }, proxied],
  // The variables, in the order of curl.
  ['https://api.example.org/', { ALL_PROXY: proxy }, proxied],
  ['http://api.example.org/', { all_proxy: proxy, HTTP_PROXY: 'http://other.test' }, proxied],
  ['https://api.example.org/', { HTTPS_PROXY: proxy, ALL_PROXY: 'socks5://other.test' }, proxied],
  ['https://api.example.org/', { HTTPS_PROXY: 'http://other.test', https_proxy: proxy }, proxied],
  ['https://api.example.org/', { ALL_PROXY: 'socks5://other.test', NO_PROXY: 'api.example.org' }, undefined],
])('%s with %o goes through %s', (url, variables, expected) => {
  expect(proxyFor(new URL(url), variables)?.url.href).toBe(expected);
});

test('a setting that is not a URL is named without its text, which may hold a password', () => {
  expect(() => proxyFor(new URL('https://api.example.org/'), { HTTPS_PROXY: 'ftp://user:secret@proxy' })).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.not.stringContaining('secret') }),
  );
});

test.each([
  ['https://api.example.org/', { HTTPS_PROXY: 'socks5h://user:secret@proxy.test:1080' }, 'HTTPS_PROXY', 'HTTPS_PROXY'],
  ['https://api.example.org/', { ALL_PROXY: 'socks5://proxy.test' }, 'ALL_PROXY', 'HTTPS_PROXY'],
])('%s: the SOCKS proxy of %o is refused, with the way to continue', (url, variables, variable, other) => {
  expect(() => proxyFor(new URL(url), variables)).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `${variable} names a SOCKS proxy, which is not supported`,
      remedy: expect.stringMatching(new RegExp(`^Set ${other} to an HTTP proxy,.* in NO_PROXY\\.$`)),
    }),
  );
});
