import { createVerify, type KeyObject, type Verify } from 'node:crypto';
import { receiptType } from '../../../contract/delivery.ts';
import type { ReceiptKeys } from './key-set.ts';
import { ReceiptError } from './receipt.ts';
import { type Receipt, ReceiptReader } from './receipt-reader.ts';

/** Bytes of the largest receipt that is read: one of 2 million files has about 1.5 GB as a JWS. */
export const largestReceipt = 4 * 1024 ** 3;

/** Base64url of the 64 bytes of an ES256 signature (RFC 7518 § 3.4): the last character has four bits that must be zero. */
const signatureForm = /^[\w-]{85}[AQgw]$/;
const base64url = /^[\w-]*$/;
/** Characters that are looked at together. An expression over tens of megabytes can exceed the stack. */
const pieceLength = 1024 * 1024;
/** Characters of the largest protected header: each rotation of the key adds some 400. */
const longestHeader = 65_536;

/**
 * The content of a receipt, after its signature has been verified. It must be a compact JWS (RFC 7515 § 7.1) in canonical
 * base64url, with `alg` ES256, `typ` data-out-delivery+jwt, the `kid` of a given key and no `crit`.
 * @param jws the file of the receipt, as it is; in pieces, it is never in memory as a whole
 * @param options.issuer service id that `iss` must be; default: any, because the keys are those of one service
 * @throws ReceiptError. Nothing of a receipt whose signature is not valid gets out of here.
 */
export async function verifyReceipt(
  jws: Uint8Array | AsyncIterable<Uint8Array>,
  keys: ReceiptKeys,
  { issuer }: { readonly issuer?: string | undefined } = {},
): Promise<Receipt> {
  const stream = new JwsStream(keys);
  let bytes = 0;
  for await (const chunk of jws instanceof Uint8Array ? [jws] : jws) {
    bytes += chunk.length;
    if (bytes > largestReceipt) throw new ReceiptError(`the receipt is larger than ${largestReceipt} bytes`);
    for (let at = 0; at < chunk.length; at += pieceLength) {
      const piece = chunk.subarray(at, at + pieceLength);
      await stream.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1'));
    }
  }
  const receipt = stream.end();
  if (issuer === undefined || receipt.iss === issuer) return receipt;
  throw new ReceiptError(`the receipt is of another service: its "iss" is not ${issuer}`);
}

/** The parts of a compact JWS, as they come. */
class JwsStream {
  readonly #keys: ReceiptKeys;
  readonly #reader = new ReceiptReader();
  /** Characters of the header, or of the signature, or of the payload that four must become three bytes. */
  #held = '';
  #part: 'header' | 'payload' | 'signature' = 'header';
  #hasPayload = false;
  #verifying: { readonly verify: Verify; readonly key: KeyObject } | undefined;
  /** What is wrong with the content. It is reported only if the signature is valid. */
  #wrong: unknown;

  constructor(keys: ReceiptKeys) {
    this.#keys = keys;
  }

  async push(text: string): Promise<void> {
    let rest = text;
    for (let dot = rest.indexOf('.'); dot >= 0; dot = rest.indexOf('.')) {
      this.#take(rest.slice(0, dot));
      rest = rest.slice(dot + 1);
      if (this.#part === 'header') await this.#endHeader();
      else if (this.#part === 'payload') this.#endPayload();
      else throw noJws();
    }
    this.#take(rest);
  }

  /** @throws ReceiptError */
  end(): Receipt {
    if (this.#part !== 'signature' || !this.#hasPayload || !this.#verifying) throw noJws();
    if (!signatureForm.test(this.#held)) throw new ReceiptError('the signature of the receipt is not one of ES256');
    const { verify, key } = this.#verifying;
    if (!verify.verify({ key, dsaEncoding: 'ieee-p1363' }, Buffer.from(this.#held, 'base64url'))) {
      throw new ReceiptError('the signature of the receipt is not valid: its content was changed, or others signed it');
    }
    if (this.#wrong !== undefined) throw this.#wrong;
    return this.#reader.end();
  }

  #take(text: string): void {
    if (!base64url.test(text)) throw noJws();
    this.#held += text;
    if (this.#part !== 'payload') {
      if (this.#held.length > longestHeader) throw noJws();
      return;
    }
    if (text === '') return;
    this.#hasPayload = true;
    this.#verifying?.verify.update(text, 'latin1');
    const whole = this.#held.length - (this.#held.length % 4);
    this.#read(this.#held.slice(0, whole));
    this.#held = this.#held.slice(whole);
  }

  #read(text: string): void {
    if (this.#wrong !== undefined) return;
    try {
      this.#reader.push(Buffer.from(text, 'base64url'));
    } catch (error) {
      this.#wrong = error;
    }
  }

  async #endHeader(): Promise<void> {
    const { kid, endorsements } = checkedHeader(this.#held);
    const key = await this.#keys.find(kid, endorsements);
    this.#verifying = { verify: createVerify('sha256').update(`${this.#held}.`, 'latin1'), key };
    this.#part = 'payload';
    this.#held = '';
  }

  #endPayload(): void {
    this.#read(this.#held);
    this.#part = 'signature';
    this.#held = '';
  }
}

function noJws(): ReceiptError {
  return new ReceiptError('this is not a compact JWS');
}

/** Before the signature is verified: what key it would need. */
function checkedHeader(encoded: string): { readonly kid: string; readonly endorsements: readonly string[] } {
  const { alg, typ, kid, endorsements = [], ...others } = headerIn(encoded);
  if (alg !== 'ES256') throw new ReceiptError('the receipt is not signed by ES256');
  if (typ !== receiptType) throw new ReceiptError(`the receipt is not of the type ${receiptType}`);
  if ('crit' in others) throw new ReceiptError('the receipt has critical extensions, which this client does not know');
  if (typeof kid !== 'string') throw new ReceiptError('the receipt does not say which key has signed it');
  if (!Array.isArray(endorsements) || !endorsements.every((each) => typeof each === 'string')) {
    throw new ReceiptError('the receipt has endorsements of its key in an unknown form');
  }
  return { kid, endorsements };
}

function headerIn(encoded: string): Readonly<Record<string, unknown>> {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof header === 'object' && header !== null) return header as Readonly<Record<string, unknown>>;
  } catch {
    // As any other header that is not an object.
  }
  throw new ReceiptError('the header of the receipt is not a JSON object');
}
