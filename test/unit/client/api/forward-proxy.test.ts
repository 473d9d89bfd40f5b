import { expect, test } from 'vitest';
import { proxyFor } from '../../../../lib/client/api/forward-proxy.ts';

const https = 'http://proxy.test:3128';

test.each([
  ['https://api.example.org/v1/', {}, undefined],
  ['https://api.example.org/v1/', { https }, 'http://proxy.test:3128/'],
  ['https://api.example.org/v1/', { https: 'proxy.test:3128' }, 'http://proxy.test:3128/'],
  ['https://api.example.org/v1/', { https: 'https://user:pass@proxy.test' }, 'https://user:pass@proxy.test/'],
  ['http://api.example.org/v1/', { https }, undefined],
  ['http://api.example.org/v1/', { http: https }, 'http://proxy.test:3128/'],
  // This machine itself.
  ['http://localhost:3000/', { http: https, https }, undefined],
  ['http://127.0.0.1:3000/', { http: https, https }, undefined],
  ['http://[::1]:3000/', { http: https, https }, undefined],
  ['https://localhost.example.org/', { https }, 'http://proxy.test:3128/'],
  // Exceptions.
  ['https://api.example.org/', { https, none: '*' }, undefined],
  ['https://api.example.org/', { https, none: 'example.org' }, undefined],
  ['https://api.example.org/', { https, none: '.example.org' }, undefined],
  ['https://api.example.org/', { https, none: 'a.test, *.EXAMPLE.org' }, undefined],
  ['https://api.example.org/', { https, none: 'api.example.org:443' }, undefined],
  ['https://api.example.org/', { https, none: 'api.example.org:8443' }, 'http://proxy.test:3128/'],
  ['https://api.example.org/', { https, none: 'ample.org' }, 'http://proxy.test:3128/'],
  ['https://10.0.0.8/', { https, none: '10.0.0.8' }, undefined],
])('%s with %o goes through %s', (url, proxies, expected) => {
  expect(proxyFor(new URL(url), proxies)?.href).toBe(expected);
});

test('a setting that is not a URL is named without its text, which may hold a password', () => {
  expect(() => proxyFor(new URL('https://api.example.org/'), { https: 'ftp://user:secret@proxy' })).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.not.stringContaining('secret') }),
  );
});
