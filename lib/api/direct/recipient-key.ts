import { Crypt4ghError, parsePublicKey } from '../../crypt4gh/index.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';
import { unusablePublicKey } from '../recipient-public-key.ts';

/** Headers that carry the recipient's key; clients in the field send one or the other. */
export const keyHeaders = ['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key'] as const;

const format = 'destinationFormat';

/**
 * What a file is asked for as: the key that a Crypt4GH container is to be made for, or `undefined` for the plaintext.
 *
 * The two go together: `destinationFormat=CRYPT4GH` (in any case of letters) without a key has no reader, and a key
 * without it would be answered with a plaintext that nobody expects.
 *
 * @returns raw public key
 * @throws InvalidRequestError with every broken rule; it never repeats a value
 */
export function requestedRecipient(request: HttpRequest): Uint8Array | undefined {
  const violations: Violation[] = [];
  const key = collected(violations, () => recipientKey(request));
  const asked = collected(violations, () => requestedFormat(request));
  // What is broken already is said once.
  if (violations.length === 0 && asked === 'crypt4gh' && !key) violations.push(missingKey);
  if (violations.length === 0 && asked === 'plaintext' && key) {
    violations.push({ field: format, message: 'must be CRYPT4GH when a public key is given' });
  }
  if (violations.length > 0) throw new InvalidRequestError(violations);
  return key;
}

function requestedFormat(request: HttpRequest): 'plaintext' | 'crypt4gh' {
  const value = singleQuery(request, format);
  if (value === undefined) return 'plaintext';
  if (value.toUpperCase() === 'CRYPT4GH') return 'crypt4gh';
  throw new InvalidRequestError([{ field: format, message: 'must be CRYPT4GH, or absent for the plaintext' }]);
}

const missingKey: Violation = { field: keyHeaders[0], message: `is missing: send ${keyHeaders.join(', or ')}` };

/** As {@link recipientKey}, where there must be one. @throws InvalidRequestError */
export function requiredRecipientKey(request: HttpRequest): Uint8Array {
  const key = recipientKey(request);
  if (!key) throw new InvalidRequestError([missingKey]);
  return key;
}

/**
 * The public key of whichever header is given; `undefined` when none is.
 *
 * @returns raw public key
 * @throws InvalidRequestError when more than one is given, even with the same value, or it is no key to encrypt to
 */
export function recipientKey(request: HttpRequest): Uint8Array | undefined {
  const given = keyHeaders.flatMap((name) =>
    (request.headers.get(name.toLowerCase()) ?? []).map((value) => ({ name, value })),
  );
  const [only, ...others] = given;
  if (!only) return undefined;
  if (others.length > 0) {
    const names = new Set(given.map(({ name }) => name));
    throw new InvalidRequestError(
      Array.from(names, (field) => ({ field, message: `is one of ${given.length} public keys: send one` })),
    );
  }
  try {
    return parsePublicKey(only.value);
  } catch (error) {
    if (!(error instanceof Crypt4ghError)) throw error;
    throw new InvalidRequestError([{ field: only.name, message: unusablePublicKey }]);
  }
}

function collected<T>(violations: Violation[], read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    violations.push(...error.violations);
    return undefined;
  }
}
