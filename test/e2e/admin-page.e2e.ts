import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RawRequest, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service } from '../helpers/service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

const get = (path: string, headers: RawRequest['headers'] = {}) =>
  rawRequest(service.connection.proxyUrl, path, { headers });
const administrator = () => ({ Authorization: basic(service.connection.admin) });

test('its policy allows its own module and style, and nothing else to run or to load', async () => {
  const { headers, text } = await get('admin', administrator());
  const hashOf = (tag: string) => {
    const [, content = ''] = new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`).exec(text) ?? [];
    expect(content.length).toBeGreaterThan(1000);
    return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
  };
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(text.match(/<(script|style|link|img|iframe|object|embed|base|meta http-equiv)\b/g)).toEqual([
    '<style',
    '<script',
  ]);
  expect(text).not.toMatch(/\son[a-z]+=|\sstyle="|javascript:/);
});
