import type { IncomingHttpHeaders } from 'node:http';
import { Hash } from '@smithy/core/serde';
import { ALGORITHM_IDENTIFIER as algorithm, createScope, SignatureV4, UNSIGNED_PAYLOAD } from '@smithy/signature-v4';

/** The parts of a request that a signature covers. */
export interface SignedRequest {
  readonly method: string;
  /** As sent, not decoded. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
}

/** Signature Version 4 as a request carries it, in the `Authorization` header or in the query of a presigned URL. */
export type Signature = NonNullable<ReturnType<typeof parseSignature>>;

/** Read the signature of a request; `undefined` when it has none or it is malformed. */
export function parseSignature({ query, headers }: SignedRequest) {
  const parameters = new URLSearchParams(query);
  const presigned = parameters.get('X-Amz-Algorithm') === algorithm;
  const [form, ...fields] = headers.authorization?.split(/[ ,]+/) ?? [];
  if (!presigned && form !== algorithm) return undefined;
  const inHeader = new URLSearchParams(fields.join('&'));
  const fieldOf = (name: string) =>
    presigned ? parameters.get(`X-Amz-${name}`) : (inHeader.get(name) ?? headers[`x-amz-${name.toLowerCase()}`]);
  const [accessKeyId, , region, service, terminator] = String(fieldOf('Credential')).split('/');
  const [signedHeaders, signature] = [fieldOf('SignedHeaders'), fieldOf('Signature')];
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
  const signedAt = new Date(String(fieldOf('Date')).replace(time, '$1-$2-$3T$4:$5:$6Z'));
  const expires = parameters.get('X-Amz-Expires') ?? '';
  if (!accessKeyId || !region || !service || terminator !== 'aws4_request' || !signedHeaders || !signature) return;
  if (Number.isNaN(signedAt.getTime()) || (presigned && !/^\d{1,6}$/.test(expires))) return undefined;
  return {
    ...{ presigned, accessKeyId, region, service, signedAt },
    signedHeaders: String(signedHeaders).split(';'),
    /** Lower-case hex. */
    signature: String(signature),
    /** Life of a presigned URL. */
    expiresSeconds: presigned ? Number(expires) : undefined,
    sessionToken: fieldOf('Security-Token')?.toString(),
  };
}

/**
 * Whether the signature is that of `secretAccessKey` over this very request.
 *
 * @param payloadHash of the body, for a request that does not state it in `x-amz-content-sha256`.
 */
export async function verifySignature(
  request: SignedRequest,
  signature: Signature,
  secretAccessKey: string,
  payloadHash: string,
): Promise<boolean> {
  const { accessKeyId, region, service } = signature;
  const credentials = { accessKeyId, secretAccessKey };
  // S3 signs the path as it is sent, every other service encodes it once more.
  const options = { credentials, region, service, uriEscapePath: service !== 's3', sha256: Hash.bind(null, 'sha256') };
  return signature.signature === (await new Verifier(options).expected(request, signature, payloadHash));
}

/** The SDK's signer for a request that was received: it signs the headers that the signature names, and no others. */
class Verifier extends SignatureV4 {
  expected(
    { method, path, query, headers }: SignedRequest,
    { presigned, region, service, signedHeaders, signedAt }: Signature,
    payloadHash: string,
  ): Promise<string> {
    const parameters = new URLSearchParams(query);
    const request = {
      ...{ protocol: 'http:', hostname: '', method, path, headers: {} },
      query: Object.fromEntries([...parameters.keys()].map((name) => [name, parameters.getAll(name)])),
    };
    const signed = signedHeaders.map((name) => [name, String(headers[name] ?? '').replace(/ +/g, ' ')]);
    const stated = presigned ? UNSIGNED_PAYLOAD : String(headers['x-amz-content-sha256'] ?? payloadHash);
    const canonical = this.createCanonicalRequest(request, Object.fromEntries(signed), stated);
    const { longDate, shortDate } = this.formatDate(signedAt);
    const scope = createScope(shortDate, region, service);
    return this.createStringToSign(longDate, scope, canonical, algorithm).then((text) =>
      this.sign(text, { signingDate: signedAt }),
    );
  }
}
