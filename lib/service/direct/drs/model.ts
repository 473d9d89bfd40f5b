import type { Problem } from '../../http/problem.ts';
import type { HttpReply } from '../../http/reply.ts';

/** Models of the GA4GH Data Repository Service 1.5.0, as far as a read-only service of single files has them. */

export interface DrsObject {
  readonly id: string;
  /** Portable file name: `A–Z a–z 0–9 . _ -`. */
  readonly name: string;
  /** Hostname-based DRS URI; names neither port nor path. */
  readonly self_uri: string;
  /** Bytes of the plaintext, which is what the access method serves. */
  readonly size: number;
  /** RFC 3339. */
  readonly created_time: string;
  readonly mime_type: string;
  /** At least one. */
  readonly checksums: readonly DrsChecksum[];
  readonly access_methods: readonly DrsAccessMethod[];
}

export interface DrsChecksum {
  /** IANA name (`sha-256`), or one of those that DRS names beside it (`md5`, `etag`). */
  readonly type: string;
  /** Hex. */
  readonly checksum: string;
}

export interface DrsAccessMethod {
  readonly type: 'https';
  readonly access_id: string;
  readonly authorizations: DrsAuthorizations;
}

export interface DrsAuthorizations {
  readonly drs_object_id: string;
  readonly supported_types: readonly ('BearerAuth' | 'PassportAuth')[];
  /** `iss` of visas that count here. */
  readonly passport_auth_issuers: readonly string[];
  /** `iss` of tokens that are taken as Bearer: visas, and passports around them. */
  readonly bearer_auth_issuers: readonly string[];
}

export interface DrsAccessUrl {
  readonly url: string;
  /** Whole header lines, to be sent with the request to `url`. */
  readonly headers: readonly string[];
}

/** The one way to the bytes: the plaintext through this service. */
export const plaintextAccessId = 'plaintext';

/**
 * A problem reply in DRS's own model: `Error` with `status_code` and `msg`, as `application/json`. DRS leaves room for more
 * members, so the stable `code`, the request id and the violations stay.
 */
export function drsErrorReply(reply: HttpReply): HttpReply {
  const { status, title, detail, code, requestId, violations } = JSON.parse(reply.body) as Problem;
  const error = { status_code: status, msg: detail ?? title, code, requestId, ...(violations && { violations }) };
  return { ...reply, headers: { ...reply.headers, 'Content-Type': 'application/json' }, body: JSON.stringify(error) };
}
