import { limits } from '../contract/limits.ts';
import { isNestedTooDeeply } from '../contract/nesting.ts';
import { InvalidRequestError } from '../errors.ts';
import { type HttpRequest, singleHeader } from './request.ts';

/**
 * The JSON document in the body of a request.
 * @throws InvalidRequestError for another media type, no body, more than `maxBytes`, deep nesting or no JSON. It never repeats
 * the body
 */
export function jsonBody(request: HttpRequest, maxBytes: number): unknown {
  const invalid = (field: string, message: string) => new InvalidRequestError([{ field, message }]);
  const contentType = singleHeader(request, 'Content-Type');
  if (contentType && !/^application\/json *(;|$)/i.test(contentType)) {
    throw invalid('Content-Type', 'must be application/json');
  }
  const bytes = request.body ?? new Uint8Array();
  if (bytes.length === 0) throw invalid('body', 'is missing');
  if (bytes.length > maxBytes) throw invalid('body', `must not be longer than ${maxBytes} bytes`);
  if (isNestedTooDeeply(bytes)) throw invalid('body', `must not be nested deeper than ${limits.jsonDepth} levels`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The engine's own message repeats part of the body.
    throw invalid('body', 'is not JSON in UTF-8');
  }
}
