import { keyHeaders, rangeKeyHeader } from '../../../contract/http.ts';
import { DataOutError, invalidRequest, type Violation } from '../../../errors.ts';
import type { Datatype } from '../../../regions/htsget/names.ts';
import { type AskedTicket, mostBodyBytes, postedTicket, queriedTicket } from '../../../regions/htsget/request.ts';
import { collected, type HttpRequest, jsonBody } from '../../http/request.ts';
import { recipientKey } from '../file-request.ts';

/** What a caller asks a ticket for. */
export interface TicketRequest extends Omit<AskedTicket, 'isEncrypted'> {
  /** Raw public key of the reader of the Crypt4GH form; `undefined`: plaintext. */
  readonly recipient: Uint8Array | undefined;
  /** Whether URLs get a `Range` header, so that their replies are 206. */
  readonly withRange: boolean;
}

/**
 * What the request asks for, with the key of the Crypt4GH form.
 *
 * @throws `invalid_request` with every broken rule; it never repeats a value
 */
export function ticketRequest(request: HttpRequest, datatype: Datatype): TicketRequest {
  const violations: Violation[] = [];
  const asked = collected(violations, () => askedTicket(request, datatype));
  const recipient = collected(violations, () => recipientKey(request));
  if (violations.length === 0 && asked?.isEncrypted && !recipient) {
    const message = `is missing beside encryptionScheme: send ${keyHeaders.join(', or ')}`;
    violations.push({ field: keyHeaders[0], message });
  }
  if (violations.length > 0 || !asked) throw invalidRequest(violations);
  const { format, headerOnly, regions } = asked;
  return { format, headerOnly, regions, recipient, withRange: request.headers.has(rangeKeyHeader.toLowerCase()) };
}

function askedTicket(request: HttpRequest, datatype: Datatype): AskedTicket {
  if (request.method !== 'POST') return queriedTicket(request.query, datatype);
  if ((request.body?.length ?? 0) > mostBodyBytes) throw new DataOutError('request_too_large', tooLong);
  return postedTicket(jsonBody(request, mostBodyBytes), request.query, datatype);
}

const tooLong = `The body has more than ${mostBodyBytes} bytes: ask for fewer regions at once.`;
