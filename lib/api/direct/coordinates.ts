import type { Coordinates } from '../../direct/part.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';

const names = { start: 'startCoordinate', end: 'endCoordinate' } as const;

/**
 * The bytes [`startCoordinate`, `endCoordinate`) of the plaintext that are asked for; `undefined` when neither is given.
 *
 * @throws InvalidRequestError for one without the other, for what is no whole number, for an empty range, and beside a
 * `Range` header, which also selects bytes
 */
export function requestedCoordinates(request: HttpRequest): Coordinates | undefined {
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
  if (violations.length > 0 || start === undefined || end === undefined) throw new InvalidRequestError(violations);
  return { start, end };
}
