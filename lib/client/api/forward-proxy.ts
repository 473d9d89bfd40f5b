import { BlockList, isIP } from 'node:net';
import { ClientError } from './errors.ts';

/**
 * The variables that name the proxies of the user's network, as curl reads them, in lower case or upper case:
 *
 * - `HTTPS_PROXY`, or else `ALL_PROXY`, for `https:`
 * - `http_proxy`, or else `ALL_PROXY`, for `http:`. `HTTP_PROXY` is not read: in a CGI script a request's header `Proxy` sets it
 * - `NO_PROXY`: `*`, host names, addresses and networks (CIDR), separated by commas or spaces. A name or an address may have a
 *   port, an IPv6 address then in brackets. A host name also covers its subdomains; a leading `.` or `*.` changes nothing
 */
export type ProxyVariables = Readonly<Record<string, string | undefined>>;

/** A proxy of the user's network, and the variable that names it. */
export interface ForwardProxy {
  readonly url: URL;
  readonly variable: string;
}

/** Whether the host of a URL is this machine itself. */
export function isLoopback({ hostname }: URL): boolean {
  // The URL parser writes every IPv4 address in this form.
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * The proxy for a request to `url`. Requests to this machine itself never go through one.
 * @throws ClientError `usage` if the variable does not hold the URL of an HTTP proxy
 */
export function proxyFor(url: URL, variables: ProxyVariables): ForwardProxy | undefined {
  const own = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy'];
  const variable = [...own, 'all_proxy', 'ALL_PROXY'].find((name) => variables[name]);
  const setting = variable && variables[variable];
  if (!setting || isLoopback(url) || isExcepted(url, variables.no_proxy || variables.NO_PROXY || '')) return undefined;
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(setting) ? setting : `http://${setting}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy?.protocol === 'http:' || proxy?.protocol === 'https:') return { url: proxy, variable };
  // The message does not repeat the setting: it may hold a password.
  const what = proxy?.protocol.startsWith('socks')
    ? 'names a SOCKS proxy, which is not supported'
    : 'is not the URL of a proxy';
  throw new ClientError('usage', `${variable} ${what}`, {
    remedy:
      `Set ${own.at(-1)} to an HTTP proxy, such as http://proxy.example.org:3128. If the service can be reached without a ` +
      'proxy, name its host in NO_PROXY.',
  });
}

function isExcepted(url: URL, exceptions: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return exceptions
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((text) => {
      const entry = text.toLowerCase();
      // Without brackets, all colons belong to an IPv6 address.
      const [, bracketed, plain, only] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
      if (only !== undefined && only !== port) return false;
      const named = bracketed ?? plain ?? entry;
      if (named === '*') return true;
      if (isIP(host)) return isWithin(host, named);
      const name = named.replace(/^\*?\./, '');
      return host === name || host.endsWith(`.${name}`);
    });
}

/** Whether an address is this one, in any spelling, or in this network. */
function isWithin(address: string, network: string): boolean {
  const [start = '', bits] = network.split('/');
  if (isIP(start) === 0 || isIP(start) !== isIP(address)) return false;
  const family = isIP(start) === 6 ? 'ipv6' : 'ipv4';
  const width = family === 'ipv6' ? 128 : 32;
  const length = Number(bits ?? width);
  const list = new BlockList();
  if (length >= 0 && length <= width) list.addSubnet(start, length, family);
  return list.check(address, family);
}
