import type { Credentials } from '../iam/credentials.ts';
import { AwsError, isAwsService } from './errors.ts';
import { parseSignature, type Signature, type SignedRequest, verifySignature } from './sigv4.ts';

/** A presigned URL lives seven days at most. */
const longestExpiry = 604_800;
const skewMs = 15 * 60_000;

/**
 * Who signed a request, before the signature itself has been checked.
 *
 * @throws AwsError as S3 refuses a request whose credentials are missing, unknown, doubled or too old.
 */
export function authenticate(request: SignedRequest, credentials: Credentials, now: Date) {
  const signature = parseSignature(request);
  if (request.headers.authorization !== undefined && new URLSearchParams(request.query).has('X-Amz-Signature')) {
    throw new AwsError(
      400,
      'InvalidArgument',
      'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
    );
  }
  if (!signature) throw new AwsError(403, 'AccessDenied', 'Access Denied');
  checkAge(signature, now);
  const principal = credentials.find(signature.accessKeyId);
  if (!principal) {
    throw new AwsError(403, 'InvalidAccessKeyId', 'The access key id that you provided does not exist in our records.');
  }
  if (principal.sessionToken !== signature.sessionToken) {
    throw new AwsError(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.');
  }
  const { service } = signature;
  if (!isAwsService(service)) throw new AwsError(501, 'NotImplemented', `no local ${service}`);
  if (service === 's3') refuseUnsignedHeaders(request, signature);
  return {
    principal,
    service,
    presigned: signature.presigned,
    /** @param payloadHash hex SHA-256 of the body, when it was read. @throws AwsError SignatureDoesNotMatch. */
    async verify(payloadHash: string): Promise<void> {
      if (await verifySignature(request, signature, principal.secretAccessKey, payloadHash)) return;
      throw new AwsError(
        403,
        'SignatureDoesNotMatch',
        'The request signature we calculated does not match the signature you provided.',
      );
    },
  };
}

/**
 * The holder of a presigned URL may not change the request by a header of S3 (S3 API reference, SigV4 query
 * parameters).
 */
function refuseUnsignedHeaders({ headers }: SignedRequest, { signedHeaders }: Signature): void {
  const unsigned = Object.keys(headers).filter((name) => name.startsWith('x-amz-') && !signedHeaders.includes(name));
  if (unsigned.length === 0) return;
  const message = 'There were headers present in the request which were not signed';
  throw new AwsError(403, 'AccessDenied', message, { HeadersNotSigned: unsigned.join(', ') });
}

function checkAge(signature: Signature, now: Date): void {
  const age = now.getTime() - signature.signedAt.getTime();
  if (signature.expiresSeconds === undefined) {
    if (Math.abs(age) <= skewMs) return;
    throw new AwsError(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the server time is too large.',
    );
  }
  if (signature.expiresSeconds > longestExpiry) {
    throw new AwsError(400, 'AuthorizationQueryParametersError', 'X-Amz-Expires must be less than a week (in seconds)');
  }
  if (age > signature.expiresSeconds * 1000) throw new AwsError(403, 'AccessDenied', 'Request has expired');
}
