import { type DeliveryReceipt, receiptType } from '../../../contract/delivery.ts';
import { isSigned, membersOf, type ReceiptKeys } from './key-set.ts';
import { parseReceipt, ReceiptError } from './receipt.ts';

/** Bytes of the largest receipt that is read: one of 100,000 files has some 55 MB, and more where paths are long. */
export const largestReceipt = 128 * 1024 ** 2;

/** Base64url of the 64 bytes of an ES256 signature (RFC 7518 § 3.4): the last character has four bits that must be zero. */
const signatureForm = /^[\w-]{85}[AQgw]$/;

/**
 * The content of a receipt, after its signature has been verified. It must be a compact JWS (RFC 7515 § 7.1) with `alg` ES256,
 * `typ` data-out-delivery+jwt, the `kid` of a given key and no `crit`.
 * @param jws the file of the receipt, as it is
 * @throws ReceiptError. Nothing of a receipt whose signature is not valid gets out of here.
 */
export async function verifyReceipt(jws: Uint8Array, keys: ReceiptKeys): Promise<DeliveryReceipt> {
  if (jws.length > largestReceipt) throw new ReceiptError(`the receipt is larger than ${largestReceipt} bytes`);
  const parts = Buffer.from(jws.buffer, jws.byteOffset, jws.length).toString('latin1').split('.');
  const [header = '', payload = '', signature = ''] = parts;
  if (parts.length !== 3) throw new ReceiptError('this is not a compact JWS');
  const { kid, endorsements } = checkedHeader(header);
  const key = await keys.find(kid, endorsements);
  if (!signatureForm.test(signature) || !isSigned(`${header}.${payload}`, key, signature)) {
    throw new ReceiptError('the signature of the receipt is not valid: its content was changed, or others signed it');
  }
  return parseReceipt(Buffer.from(payload, 'base64url').toString('utf8'));
}

/** Before the signature is verified: what key it would need. */
function checkedHeader(encoded: string): { readonly kid: string; readonly endorsements: readonly string[] } {
  const { alg, typ, kid, endorsements = [], ...others } = membersOf(encoded);
  if (alg !== 'ES256') throw new ReceiptError('the receipt is not signed by ES256');
  if (typ !== receiptType) throw new ReceiptError(`the receipt is not of the type ${receiptType}`);
  if ('crit' in others) throw new ReceiptError('the receipt has critical extensions, which this client does not know');
  if (typeof kid !== 'string') throw new ReceiptError('the receipt does not say which key has signed it');
  if (!Array.isArray(endorsements) || !endorsements.every((each) => typeof each === 'string')) {
    throw new ReceiptError('the receipt has endorsements of its key in an unknown form');
  }
  return { kid, endorsements };
}
