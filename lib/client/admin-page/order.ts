import { decodedText } from '../../common/text.ts';
import { Crypt4ghError } from '../../crypt4gh/errors.ts';
import { expectCanonical, publicKeyBytes } from '../../crypt4gh/keys/public-key-form.ts';
import { type DecodedToken, datasetsOf, decodeVisaOrPassport, expiryOf } from '../api/order/decoded-visa.ts';
import { doubtsOf, isIdentifier, isLongExpired, type OrderType, typeOf } from '../api/order/order-rules.ts';
import { hasSeveralDatasets, tokenIn } from '../api/visa-choice.ts';
import type { ExportRequestBody } from './service.ts';

/** An order that can be sent, and its facts for the administrator. Nothing of the visa is verified. */
export type CheckedOrder = Exclude<ReturnType<typeof checkOrder>, { readonly faults: unknown }>;

/**
 * Checks an order by the rules of the command line.
 * @param words what the form holds
 * @returns the faults of its fields; else what to send, with doubts for which the service will probably reject it
 */
export function checkOrder(words: ExportRequestBody, now: Date) {
  const { type } = words;
  const [id, given, userPublicKey] = [words.id.trim(), words.visaToken.trim(), words.userPublicKey.trim()];
  const visaToken = tokenIn(given, id) ?? '';
  const token = decodeVisaOrPassport(visaToken);
  const publicKey = readKey(userPublicKey);
  const messages = {
    id: identifierFault(id, type),
    visaToken:
      given === ''
        ? 'paste the researcher’s visa, or choose its file.'
        : (severalFault(given, type) ?? visaFault(token, now)),
    userPublicKey: typeof publicKey === 'string' ? publicKey : undefined,
  };
  const faults = Object.entries(messages).flatMap(([field, message]) =>
    message === undefined ? [] : [{ field: field as keyof typeof messages, message }],
  );
  if (faults.length > 0 || token === undefined || typeof publicKey === 'string') return { faults };
  const about = { datasets: datasetsOf(token), expires: expiryOf(token), doubts: doubtsOf({ id, type }, token, now) };
  return { order: { id, type, visaToken, userPublicKey }, token, publicKey, ...about };
}

/** The content of a file for a field. A key of 32 bytes is not text. */
export function fieldText(bytes: Uint8Array): string {
  return bytes.length === 32 ? btoa(String.fromCharCode(...bytes)) : decodedText(bytes);
}

function identifierFault(id: string, type: OrderType): string | undefined {
  if (id === '') return 'give the id of a dataset or a file.';
  if (!isIdentifier(id)) return 'expected 1 to 256 characters without control characters.';
  const isFile = type === 'datasetId' && typeOf(id) === 'fileId';
  return isFile ? `${id} is the id of a file. Choose the type File.` : undefined;
}

function severalFault(given: string, type: OrderType): string | undefined {
  if (type !== 'fileId' || !hasSeveralDatasets(given)) return undefined;
  return 'these visas are for several datasets. Save the visa of the file’s dataset: data-out visas save.';
}

function visaFault(token: DecodedToken | undefined, now: Date): string | undefined {
  if (token === undefined) return 'this is neither a GA4GH visa nor a passport. Ask the researcher for theirs.';
  const isRefused = isLongExpired(token, now);
  return isRefused ? `it expired at ${expiryOf(token)?.toISOString()}. Ask the researcher for a new one.` : undefined;
}

/** The 32 bytes, or what is wrong. */
function readKey(text: string): Uint8Array | string {
  if (text === '') return 'paste the researcher’s public key, or choose its file.';
  try {
    const bytes = publicKeyBytes(text);
    expectCanonical(bytes);
    return bytes;
  } catch (error) {
    if (!(error instanceof Crypt4ghError)) throw error;
    return `${error.message}. Ask the researcher for the file that ends in .pub.pem.`;
  }
}
