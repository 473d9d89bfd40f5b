import { ClientError } from './errors.ts';

/** The proxies of the user's network, as the variables `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name them. */
export interface ForwardProxies {
  readonly https?: string | undefined;
  readonly http?: string | undefined;
  /**
   * Comma-separated: `*`, host names or addresses, each with `:port` or without. A host name also covers its subdomains; a
   * leading `.` or `*.` changes nothing.
   */
  readonly none?: string | undefined;
}

/** Whether the host of a URL is this machine itself. */
export function isLoopback({ hostname }: URL): boolean {
  // The URL parser writes every IPv4 address in this form.
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * The proxy for a request to `url`. Requests to this machine itself never go through one.
 * @throws ClientError `usage` if the setting is not a URL
 */
export function proxyFor(url: URL, proxies: ForwardProxies): URL | undefined {
  const setting = url.protocol === 'https:' ? proxies.https : proxies.http;
  if (!setting || isLoopback(url) || isExcepted(url, proxies.none ?? '')) return undefined;
  const text = /^[a-z]+:\/\//i.test(setting) ? setting : `http://${setting}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy?.protocol === 'http:' || proxy?.protocol === 'https:') return proxy;
  // The message does not repeat the setting: it may hold a password.
  throw new ClientError('usage', `the setting of the ${url.protocol.slice(0, -1).toUpperCase()} proxy is not a URL`, {
    remedy: 'Set HTTPS_PROXY to a URL such as http://proxy.example.org:3128, or remove it.',
  });
}

function isExcepted(url: URL, exceptions: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return exceptions
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((entry) => {
      const [, host = '', only] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
      if (only !== undefined && only !== port) return false;
      const name = host.replace(/^\*?\./, '');
      return host === '*' || url.hostname === name || url.hostname.endsWith(`.${name}`);
    });
}
