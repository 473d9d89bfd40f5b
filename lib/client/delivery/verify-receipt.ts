import { type DeliveryReceipt, receiptType } from '../../contract/delivery.ts';
import type { ReceiptKeys } from './key-set.ts';
import { parseReceipt, ReceiptError } from './receipt.ts';

/** Bytes of the largest receipt that is read: one of 100,000 files has about 75 MB as a JWS. */
export const largestReceipt = 256 * 1024 * 1024;

/** Base64url of the 64 bytes of an ES256 signature (RFC 7518 § 3.4): the last character has four bits that must be zero. */
const signatureForm = /^[\w-]{85}[AQgw]$/;
const base64url = /^[\w-]+$/;
/** Characters that are looked at together. An expression over tens of megabytes can exceed the stack. */
const pieceLength = 1024 * 1024;
/** Characters of the largest protected header. */
const longestHeader = 4096;

/**
 * The content of a receipt, after its signature has been verified. It must be a compact JWS (RFC 7515 § 7.1) in canonical
 * base64url, with `alg` ES256, `typ` data-out-delivery+jwt, the `kid` of a given key and no `crit`.
 *
 * @param jws the file of the receipt, as it is
 * @param options.issuer service id that `iss` must be; default: any, because the keys are those of one service
 * @throws ReceiptError. Nothing of a receipt whose signature does not hold gets out of here.
 */
export async function verifyReceipt(
  jws: Uint8Array,
  keys: ReceiptKeys,
  options: { readonly issuer?: string | undefined } = {},
): Promise<DeliveryReceipt> {
  if (jws.length > largestReceipt) throw new ReceiptError(`the receipt is larger than ${largestReceipt} bytes`);
  const text = Buffer.from(jws.buffer, jws.byteOffset, jws.length).toString('latin1');
  checkForm(text);
  checkHeader(text.slice(0, text.indexOf('.')), keys);
  const { issuer } = options;
  const { jwtVerify, errors } = await import('jose');
  try {
    const { payload } = await jwtVerify(text, keys.find, {
      algorithms: ['ES256'],
      typ: receiptType,
      ...(issuer && { issuer }),
    });
    return parseReceipt(payload);
  } catch (cause) {
    if (!(cause instanceof errors.JOSEError)) throw cause;
    if (cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'iss') {
      throw new ReceiptError(`the receipt is of another service: its "iss" is not ${issuer}`, { cause });
    }
    throw new ReceiptError('the signature of the receipt does not hold: its content was changed, or others signed it', {
      cause,
    });
  }
}

function checkForm(text: string): void {
  const parts = text.split('.');
  const [header = '', payload = '', signature = ''] = parts;
  const isJws = parts.length === 3 && header.length <= longestHeader && isBase64url(header);
  if (!isJws || !isBase64url(payload)) throw new ReceiptError('this is no compact JWS');
  if (!signatureForm.test(signature)) throw new ReceiptError('the signature of the receipt is not one of ES256');
}

function isBase64url(text: string): boolean {
  for (let at = 0; at < text.length; at += pieceLength) {
    if (!base64url.test(text.slice(at, at + pieceLength))) return false;
  }
  return text !== '';
}

/** Before the signature is verified: what key it would need. */
function checkHeader(encoded: string, keys: ReceiptKeys): void {
  const { alg, typ, kid, ...others } = headerIn(encoded);
  if (alg !== 'ES256') throw new ReceiptError('the receipt is not signed by ES256');
  if (typ !== receiptType) throw new ReceiptError(`the receipt is not of the type ${receiptType}`);
  if ('crit' in others) throw new ReceiptError('the receipt has critical extensions, which this client does not know');
  if (typeof kid !== 'string' || !keys.kids.has(kid)) {
    throw new ReceiptError('the receipt is signed by a key that is not in the key set', {
      remedy: 'Get the keys of the service that made it: its /.well-known/jwks.json lists old ones, too.',
    });
  }
}

function headerIn(encoded: string): Readonly<Record<string, unknown>> {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof header === 'object' && header !== null) return header as Readonly<Record<string, unknown>>;
  } catch {
    // As any other header that is none.
  }
  throw new ReceiptError('the header of the receipt is no JSON object');
}
