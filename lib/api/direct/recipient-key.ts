import { InvalidRequestError, type Violation } from '../../errors.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';
import { collected } from '../../http/violations.ts';
import { explainUnusablePublicKey, usablePublicKey } from '../recipient-public-key.ts';

/** Headers that carry the recipient's key; clients in the field send one or the other. */
const keyHeaders = ['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key'] as const;

const format = 'destinationFormat';

/**
 * The key of the Crypt4GH container that the caller asks for; `undefined` when the caller asks for the plaintext.
 *
 * A container takes both `destinationFormat=CRYPT4GH` (in any case of letters) and a key. One without the other is refused:
 * a container without a key has no reader, and a caller who sends a key does not expect plaintext.
 *
 * @returns raw public key
 * @throws InvalidRequestError with every broken rule; it never repeats a value
 */
export function requestedRecipient(request: HttpRequest): Uint8Array | undefined {
  const violations: Violation[] = [];
  const key = collected(violations, () => recipientKey(request));
  const asked = collected(violations, () => requestedFormat(request));
  // A part that is broken by itself is named once.
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
 * The public key in one of the key headers; `undefined` when there is none.
 *
 * @returns raw public key
 * @throws InvalidRequestError for more than one header, even with the same value, and for a key that cannot be used
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
  const key = usablePublicKey(only.value);
  if (!key) throw new InvalidRequestError([{ field: only.name, message: explainUnusablePublicKey(only.value) }]);
  return key;
}
