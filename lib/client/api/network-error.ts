import tls from 'node:tls';
import { UnavailableError } from './errors.ts';
import type { ForwardProxy } from './forward-proxy.ts';

/** How Node.js names a certificate whose authority it does not have. */
const unknownAuthority =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)_.*)$/;

let isTrusted = false;

/** Whether the authorities in the system's store are trusted. */
export function systemStoreIsTrusted(): boolean {
  return isTrusted;
}

/**
 * Trusts the authorities in the system's store, as curl does. Node.js has its own authorities, and to load these takes 0.1 seconds,
 * so it waits for a certificate that needs them.
 * @param code of a connection that failed before
 * @returns whether a new connection can succeed
 */
function trustSystemStore(code: string): boolean {
  // Node.js before 22.19 cannot.
  if (!unknownAuthority.test(code) || typeof tls.setDefaultCACertificates !== 'function') return false;
  if (!isTrusted)
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...tls.getCACertificates('system')]);
  isTrusted = true;
  return true;
}

/** Codes of certificates, besides those whose authority is unknown. */
const certificateCodes = /^(CERT_(HAS_EXPIRED|NOT_YET_VALID|UNTRUSTED)|ERR_TLS_CERT_ALTNAME_INVALID)$/;

/** How OpenSSL names bytes that are not TLS: in its code or, in older versions of Node.js, in its message. */
const noTls = /wrong.version.number|packet.length.too.long|unknown.protocol|http.request/i;

/** Codes of a reply that would be wrong again. The parser has two others, for one that was cut. */
const noHttp = /^(UND_ERR_HEADERS_OVERFLOW|HPE_(?!INVALID_EOF_STATE|CLOSED_CONNECTION).*)$/;

/** Failures that waiting does not heal. */
const lasting: readonly {
  readonly is: (code: string, message: string) => boolean;
  readonly what: string;
  readonly remedy: string;
}[] = [
  {
    is: (code) => certificateCodes.test(code) || unknownAuthority.test(code),
    what: "the server's certificate is not trusted",
    remedy:
      'If your network or service has its own certificate authority, name its PEM file with --ca or ' +
      'NODE_EXTRA_CA_CERTS. If not, the connection may be intercepted: ask the operator.',
  },
  {
    is: (code, message) => noTls.test(code) || (code === 'EPROTO' && noTls.test(message)),
    what: 'the server there does not speak https',
    remedy:
      'Check host and port. Write http:// only for a service on this machine: to any other machine, your visa and ' +
      'password would travel unencrypted.',
  },
  {
    is: (code) => noHttp.test(code),
    what: 'the answer is not HTTP that this program can read',
    remedy: 'Check the address, and a proxy on the way. If that does not help, tell the operator.',
  },
  {
    // The library's parser is WebAssembly, for which Node.js reserves address space.
    is: (_, message) => /^RangeError.*(wasm memory|allocate memory)/i.test(message),
    what: 'this program gets too little memory, because its address space is limited',
    remedy: 'Raise the limit to 4 GB or more, such as by ulimit -v unlimited.',
  },
];

/** Codes that a wrong address also causes. They are retried only for an origin that has answered before. */
const addressCodes = new Set(['ENOTFOUND', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

const words: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name cannot be looked up at the moment',
  ECONNREFUSED: 'no service listens there',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the reply ended too early',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the transfer stalled',
};

/**
 * The failure of a connection in the client's words. Of the URL only the host is named: the rest may be a secret.
 * @param about.known whether the origin has answered before
 * @param about.proxy through which the request went
 * @param about.withStore whether the request trusted the system's store
 */
export function networkError(
  error: unknown,
  url: URL,
  about: { readonly known: boolean; readonly proxy: ForwardProxy | undefined; readonly withStore: boolean },
): UnavailableError {
  const { known, proxy, withStore } = about;
  const code = codeOf(error);
  const { host } = url;
  const final = lasting.find(({ is }) => is(code, String(error)));
  if (final) {
    const { what, remedy } = final;
    const retryable = !withStore && trustSystemStore(code);
    // An answer shows that the request came through.
    const mayBeDone = noHttp.test(code);
    return new UnavailableError(`${host}: ${what}${code && ` (${code})`}`, { retryable, remedy, mayBeDone });
  }
  const refusal = tunnelRefusal(error);
  if (refusal !== undefined && refusal < 500 && refusal !== 429) {
    const remedy =
      refusal === 407
        ? 'Put its user name and password into HTTPS_PROXY: http://USER:PASSWORD@host:port.'
        : 'Ask its operator to allow this host. If the host can be reached without the proxy, name it in NO_PROXY.';
    return new UnavailableError(`your forward proxy refuses ${host} (status ${refusal})`, { retryable: false, remedy });
  }
  const cause = refusal === undefined ? code : `status ${refusal}`;
  const what = `${words[code] ?? 'the connection failed'}${cause && ` (${cause})`}`;
  // Without a connection, the request was never sent.
  const isUnsent = addressCodes.has(code) || code === 'EAI_AGAIN';
  const retryable = known || !addressCodes.has(code);
  const name = proxy && `your forward proxy ${proxy.url.host} (${proxy.variable})`;
  // Through a proxy, nothing else is looked up or connected to.
  const where = name === undefined ? host : isUnsent ? name : `${host}, through ${name}`;
  let remedy = 'Run the same command again when the network works.';
  if (proxy) {
    remedy = `Check ${proxy.variable} and the network. If the service can be reached without the proxy, name its host in NO_PROXY.`;
  } else if (!retryable) {
    remedy = 'Check the address, the network and HTTPS_PROXY. data-out doctor tries them one by one.';
  } else if (url.protocol === 'http:' && !known) {
    // A server that expects TLS ends an unencrypted connection at the first byte.
    remedy = 'Check the address: does the service speak https://? If not, run the same command again later.';
  }
  const mayBeDone = refusal === undefined && !isUnsent;
  return new UnavailableError(`${where}: ${what}`, { retryable, mayBeDone, remedy });
}

/** Status of a forward proxy's answer to `CONNECT` (RFC 9110 § 9.3.6); the library gives it in its message alone. */
function tunnelRefusal(error: unknown): number | undefined {
  const [, status] = /^Proxy response \((\d{3})\)/.exec(error instanceof Error ? error.message : '') ?? [];
  return status === undefined ? undefined : Number(status);
}

/** The innermost code: libraries wrap the system's error. A host with several addresses fails with an AggregateError. */
function codeOf(error: unknown): string {
  let found = '';
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') found = current.code;
    const [first] = current instanceof AggregateError ? current.errors : [];
    if (first instanceof Error && 'code' in first && typeof first.code === 'string') return first.code;
  }
  return found;
}
