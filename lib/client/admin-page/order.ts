import { Crypt4ghError } from '../../crypt4gh/errors.ts';
import { expectCanonical, publicKeyBytes } from '../../crypt4gh/keys/public-key-form.ts';
import { type DecodedToken, datasetsOf, decodeVisaOrPassport, expiryOf } from '../api/order/decoded-visa.ts';
import { doubtsOf, isIdentifier, isLongExpired, isToken, type OrderType, typeOf } from '../api/order/order-rules.ts';
import type { ExportRequestBody } from './service.ts';

/** What the form holds. */
export interface OrderWords {
  readonly id: string;
  readonly type: OrderType;
  readonly visa: string;
  readonly publicKey: string;
}

/** A broken rule, and the field that breaks it. */
export interface OrderFault {
  readonly field: keyof OrderWords;
  readonly message: string;
}

/** An order that can be sent, and its facts for the administrator. Nothing of the visa is verified. */
export interface CheckedOrder {
  readonly order: ExportRequestBody;
  readonly token: DecodedToken;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly datasets: readonly string[];
  readonly expires: Date | undefined;
  /** Reasons for which the service will probably reject it. */
  readonly doubts: readonly string[];
}

/** Checks an order by the rules of the command line. */
export function checkOrder(words: OrderWords, now: Date): CheckedOrder | { readonly faults: readonly OrderFault[] } {
  const id = words.id.trim();
  const visa = words.visa.trim();
  const { type } = words;
  const token = isToken(visa) ? decodeVisaOrPassport(visa) : undefined;
  const key = readKey(words.publicKey);
  const faults = [
    ...faultOf('id', identifierFault(id, type)),
    ...faultOf('visa', visaFault(visa, token, now)),
    ...faultOf('publicKey', typeof key === 'string' ? key : undefined),
  ];
  if (faults.length > 0 || token === undefined || typeof key === 'string') return { faults };
  return {
    order: { id, type, visaToken: visa, userPublicKey: words.publicKey.trim() },
    token,
    publicKey: key,
    datasets: datasetsOf(token),
    expires: expiryOf(token),
    doubts: doubtsOf({ id, type }, token, now),
  };
}

function faultOf(field: OrderFault['field'], message: string | undefined): OrderFault[] {
  return message === undefined ? [] : [{ field, message }];
}

function identifierFault(id: string, type: OrderType): string | undefined {
  if (id === '') return 'Identifier: give the id of a dataset or a file.';
  if (!isIdentifier(id)) return 'Identifier: expected 1 to 256 characters without control characters.';
  const isFile = type === 'datasetId' && typeOf(id) === 'fileId';
  return isFile ? `Identifier: ${id} is the id of a file. Choose the type File.` : undefined;
}

function visaFault(visa: string, token: DecodedToken | undefined, now: Date): string | undefined {
  if (visa === '') return 'Visa: paste the researcher’s visa, or choose its file.';
  if (token === undefined) return 'Visa: this is neither a GA4GH visa nor a passport. Ask the researcher for theirs.';
  if (!isLongExpired(token, now)) return undefined;
  return `Visa: it expired at ${expiryOf(token)?.toISOString()}. Ask the researcher for a new one.`;
}

/** The 32 bytes, or what is wrong. */
function readKey(text: string): Uint8Array | string {
  if (text.trim() === '') return 'Public key: paste the researcher’s public key, or choose its file.';
  try {
    const bytes = publicKeyBytes(text);
    expectCanonical(bytes);
    return bytes;
  } catch (error) {
    if (!(error instanceof Crypt4ghError)) throw error;
    return `Public key: ${error.message}. Ask the researcher for the file that ends in .pub.pem.`;
  }
}
