import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { percentDecoded, percentEncoded } from '../../common/percent.ts';
import { BoundedMap } from '../../common/recent.ts';

/** Signature Version 4 as a request carries it, in the `Authorization` header or in the query of a presigned URL. */
export interface Signature {
  readonly presigned: boolean;
  readonly accessKeyId: string;
  /** `YYYYMMDD`. */
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  /** Lower-case hex. */
  readonly signature: string;
  /** `YYYYMMDDTHHMMSSZ`. */
  readonly timestamp: string;
  /** Life of a presigned URL. */
  readonly expiresSeconds: number | undefined;
  readonly sessionToken: string | undefined;
}

/** The parts of a request that a signature covers. */
export interface SignedRequest {
  readonly method: string;
  /** As sent, not decoded. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** Read the signature of a request; `undefined` when it has none or it is malformed. */
export function parseSignature({ query, headers }: SignedRequest): Signature | undefined {
  const parameters = new URLSearchParams(query);
  if (parameters.get('X-Amz-Algorithm') === algorithm) {
    return signatureOf({
      presigned: true,
      credential: parameters.get('X-Amz-Credential'),
      signedHeaders: parameters.get('X-Amz-SignedHeaders'),
      signature: parameters.get('X-Amz-Signature'),
      timestamp: parameters.get('X-Amz-Date'),
      expires: parameters.get('X-Amz-Expires'),
      sessionToken: parameters.get('X-Amz-Security-Token'),
    });
  }
  const { authorization } = headers;
  if (!authorization?.startsWith(`${algorithm} `)) return undefined;
  const fields = new Map(
    authorization
      .slice(algorithm.length)
      .split(',')
      .map((field) => field.trim().split(/=(.*)/s, 2) as [string, string]),
  );
  return signatureOf({
    presigned: false,
    credential: fields.get('Credential'),
    signedHeaders: fields.get('SignedHeaders'),
    signature: fields.get('Signature'),
    timestamp: single(headers['x-amz-date']),
    sessionToken: single(headers['x-amz-security-token']),
  });
}

type Text = string | null | undefined;

function signatureOf(raw: {
  presigned: boolean;
  credential: Text;
  signedHeaders: Text;
  signature: Text;
  timestamp: Text;
  expires?: Text;
  sessionToken: Text;
}): Signature | undefined {
  const [accessKeyId, date, region, service, terminator] = raw.credential?.split('/') ?? [];
  if (!accessKeyId || !date || !region || !service || terminator !== 'aws4_request') return undefined;
  if (!raw.signedHeaders || !raw.signature || !/^\d{8}T\d{6}Z$/.test(raw.timestamp ?? '')) return undefined;
  if (raw.presigned && !/^\d{1,6}$/.test(raw.expires ?? '')) return undefined;
  return {
    presigned: raw.presigned,
    accessKeyId,
    date,
    region,
    service,
    signedHeaders: raw.signedHeaders.split(';'),
    signature: raw.signature,
    timestamp: raw.timestamp ?? '',
    expiresSeconds: raw.presigned ? Number(raw.expires) : undefined,
    sessionToken: raw.sessionToken ?? undefined,
  };
}

/**
 * Whether the signature is that of `secretAccessKey` over this very request.
 *
 * @param payloadHash of the body, for a request that does not state it in `x-amz-content-sha256`.
 */
export function verifySignature(
  request: SignedRequest,
  signature: Signature,
  secretAccessKey: string,
  payloadHash: string,
): boolean {
  const expected = sign(canonicalRequest(request, signature, payloadHash), signature, secretAccessKey);
  const presented = Buffer.from(signature.signature);
  return presented.length === expected.length && timingSafeEqual(presented, Buffer.from(expected));
}

/** When a signature was made, in milliseconds since 1970. */
export function signedAt({ timestamp }: Signature): number {
  const [year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(timestamp)?.slice(1).map(Number) ?? [];
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
}

function canonicalRequest(request: SignedRequest, signature: Signature, payloadHash: string): string {
  // S3 signs the path as it is sent, every other service encodes it once more.
  const path = signature.service === 's3' ? request.path : request.path.split('/').map(percentEncoded).join('/');
  const query = request.query
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='))
    .map((pair) => pair.split(/=(.*)/s, 2).map((part) => percentEncoded(percentDecoded(part))) as [string, string?])
    .map(([name, value = '']) => [name, value] as const)
    .sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const headers = signature.signedHeaders.map((name) => {
    const value = request.headers[name] ?? '';
    return `${name}:${[value].flat().join(',').trim().replace(/ +/g, ' ')}\n`;
  });
  const stated = signature.presigned ? 'UNSIGNED-PAYLOAD' : single(request.headers['x-amz-content-sha256']);
  return [request.method, path, query, headers.join(''), signature.signedHeaders.join(';'), stated ?? payloadHash].join(
    '\n',
  );
}

function sign(canonical: string, signature: Signature, secretAccessKey: string): string {
  const { timestamp, date, region, service } = signature;
  const scope = `${date}/${region}/${service}/aws4_request`;
  return createHmac('sha256', signingKey(scope, secretAccessKey))
    .update([algorithm, timestamp, scope, hash('sha256', canonical)].join('\n'))
    .digest('hex');
}

/** By secret and scope. To derive a key takes four times as long as to sign with it. */
const signingKeys = new BoundedMap<string, Buffer>(500);

function signingKey(scope: string, secretAccessKey: string): Buffer {
  const name = `${secretAccessKey}/${scope}`;
  const known = signingKeys.get(name);
  if (known) return known;
  let key = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  signingKeys.set(name, key);
  return key;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
