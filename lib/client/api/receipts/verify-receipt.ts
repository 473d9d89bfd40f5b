import { type CompactJWSHeaderParameters, errors } from 'jose';
import { type DeliveryReceipt, receiptType } from '../../../contract/delivery.ts';
import { payloadOf, type ReceiptKeys } from './key-set.ts';
import { parseReceipt, ReceiptError } from './receipt.ts';

/** Bytes of the largest receipt that is read: one of 100,000 files has some 55 MB, and more where paths are long. */
export const largestReceipt = 128 * 1024 ** 2;

/**
 * The content of a receipt, after its signature has been verified. It must be a compact JWS (RFC 7515 § 7.1) with `alg` ES256,
 * `typ` data-out-delivery+jwt, the `kid` of a given key and no `crit`.
 * @param jws the file of the receipt, as it is
 * @throws ReceiptError. Nothing of a receipt whose signature is not valid gets out of here.
 */
export async function verifyReceipt(jws: Uint8Array, keys: ReceiptKeys): Promise<DeliveryReceipt> {
  if (jws.length > largestReceipt) throw new ReceiptError(`the receipt is larger than ${largestReceipt} bytes`);
  const text = Buffer.from(jws.buffer, jws.byteOffset, jws.length).toString('latin1');
  // Some libraries, this one among them, ignore spaces and padding.
  if (!/^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/.test(text)) throw new ReceiptError('this is not a compact JWS');
  const keyOf = ({ kid, endorsements }: CompactJWSHeaderParameters) => keys.find(kid, endorsements);
  const payload = await payloadOf(text, receiptType, keyOf).catch((cause: unknown) => {
    if (cause instanceof errors.JWSSignatureVerificationFailed) {
      const why = 'its content was changed, or others signed it';
      throw new ReceiptError(`the signature of the receipt is not valid: ${why}`, { cause });
    }
    if (cause instanceof errors.JOSEError) throw new ReceiptError(`this is not a receipt: ${cause.message}`, { cause });
    throw cause;
  });
  return parseReceipt(payload);
}
