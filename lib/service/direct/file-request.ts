import { keyHeaders } from '../../contract/http.ts';
import type { ByteRange } from '../../crypt4gh/index.ts';
import { invalidRequest, type Violation } from '../../errors.ts';
import { explainUnusablePublicKey, type HttpRequest, readAll, singleQuery, usablePublicKey } from '../http/request.ts';

const format = 'destinationFormat';

/**
 * The key of the Crypt4GH container that the caller asks for; `undefined` when the caller asks for the plaintext.
 *
 * A container takes both `destinationFormat=CRYPT4GH` (in any case of letters) and a key. One without the other is refused:
 * a container without a key has no reader, and a caller who sends a key does not expect plaintext.
 *
 * @returns raw public key
 * @throws `invalid_request` with every broken rule; it never repeats a value
 */
export function requestedRecipient(request: HttpRequest): Uint8Array | undefined {
  const { key, asked } = readAll({ key: () => recipientKey(request), asked: () => requestedFormat(request) });
  if (asked === 'crypt4gh' && !key) throw invalidRequest([missingKey]);
  if (asked === 'plaintext' && key) {
    throw invalidRequest([{ field: format, message: 'must be CRYPT4GH when a public key is given' }]);
  }
  return key;
}

function requestedFormat(request: HttpRequest): 'plaintext' | 'crypt4gh' {
  const value = singleQuery(request, format);
  if (value === undefined || value.toUpperCase() === 'PLAIN') return 'plaintext';
  if (value.toUpperCase() === 'CRYPT4GH') return 'crypt4gh';
  throw invalidRequest([{ field: format, message: 'must be CRYPT4GH or plain; the default is plain' }]);
}

const missingKey: Violation = { field: keyHeaders[0], message: `is missing: send ${keyHeaders.join(', or ')}` };

/** As {@link recipientKey}, where there must be one. */
export function requiredRecipientKey(request: HttpRequest): Uint8Array {
  const key = recipientKey(request);
  if (!key) throw invalidRequest([missingKey]);
  return key;
}

/**
 * The public key in one of the key headers; `undefined` when there is none.
 *
 * @returns raw public key
 * @throws `invalid_request` for more than one header, even with the same value, and for a key that cannot be used
 */
export function recipientKey(request: HttpRequest): Uint8Array | undefined {
  const given = keyHeaders.flatMap((name) =>
    (request.headers.get(name.toLowerCase()) ?? []).map((value) => ({ name, value })),
  );
  const [only, ...others] = given;
  if (!only) return undefined;
  if (others.length > 0) {
    const sent = new Set(given.map(({ name }) => name));
    throw invalidRequest(
      Array.from(sent, (field) => ({ field, message: `is one of ${given.length} public keys: send one` })),
    );
  }
  const key = usablePublicKey(only.value);
  if (!key) throw invalidRequest([{ field: only.name, message: explainUnusablePublicKey(only.value) }]);
  return key;
}

const names = { start: 'startCoordinate', end: 'endCoordinate' } as const;

/**
 * The bytes [`startCoordinate`, `endCoordinate`) of the plaintext that are asked for; `undefined` when neither is given.
 *
 * @throws `invalid_request` for one without the other, for what is not a whole number, for an empty range, and beside a
 * `Range` header, which also selects bytes
 */
export function requestedCoordinates(request: HttpRequest): ByteRange | undefined {
  const violations: Violation[] = [];
  const [start, end] = [names.start, names.end].map((field) => {
    const value = singleQuery(request, field);
    if (value === undefined) return undefined;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!Number.isSafeInteger(number)) violations.push({ field, message: 'must be a whole number of bytes' });
    return number;
  });
  if (start === undefined && end === undefined) return undefined;
  if (start === undefined) violations.push({ field: names.start, message: `is missing beside ${names.end}` });
  if (end === undefined) violations.push({ field: names.end, message: `is missing beside ${names.start}` });
  if (request.headers.has('range')) violations.push({ field: 'Range', message: 'cannot be combined with coordinates' });
  if (start !== undefined && end !== undefined && end <= start) {
    violations.push({ field: names.end, message: `must be greater than ${names.start}` });
  }
  if (violations.length > 0 || start === undefined || end === undefined) throw invalidRequest(violations);
  return { start, end };
}
