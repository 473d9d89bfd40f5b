import type { DeliveredFile, MissingFile } from '../../contract/delivery.ts';
import { parseOutboxKey } from '../../contract/outbox-key.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import type { RequestedFile, SealedRequest, StagedContainer } from './ports.ts';

/** What a receipt says of one file. */
export type Entry = { readonly file: DeliveredFile } | { readonly missing: MissingFile };

/**
 * Decide on one file of a request. Of a container that was written several times, the newest counts: it is the one in the
 * outbox.
 *
 * @throws TemporarilyUnavailableError when a newer request has written the container and not recorded it yet
 */
export function entryOf(requested: RequestedFile, { keyFingerprint }: Pick<SealedRequest, 'keyFingerprint'>): Entry {
  const { state, reason, newest, supersededBy } = requested;
  if (state === 'rejected') return missing(requested, reason ?? state);
  if (state !== 'staged' && state !== 'superseded') return missing(requested, state);
  if (newest?.keyFingerprint === keyFingerprint) return { file: delivered(requested, newest) };
  if (newest) return missing(requested, 'superseded', newest.requestId);
  // Withdrawn, or superseded in its turn, after it was in the way. Requests of earlier versions have no row.
  const isAwaited = ['pending', 'retrying', 'staged'].includes(supersededBy?.state ?? 'none');
  if (state === 'superseded' && !isAwaited) return missing(requested, 'superseded', supersededBy?.requestId);
  throw new TemporarilyUnavailableError('a newer request has not recorded yet what it staged');
}

function missing({ fileId, path }: RequestedFile, reason: string, by?: string): Entry {
  return { missing: { file_id: fileId, path, reason, ...(by !== undefined && { by }) } };
}

function delivered(
  { fileId, path, plaintextSize, plaintextSha256 }: RequestedFile,
  { outboxKey, size, crc64nvme, headerSha256 }: StagedContainer,
): DeliveredFile {
  const name = parseOutboxKey(outboxKey)?.name;
  if (name === undefined) throw new TypeError(`the log has an outbox key of another form: ${outboxKey}`);
  return {
    name,
    file_id: fileId,
    path,
    size,
    ...(plaintextSize !== undefined && { plaintext_size: plaintextSize }),
    ...(plaintextSha256 !== undefined && { plaintext_sha256: plaintextSha256 }),
    ...(crc64nvme !== undefined && { crc64nvme }),
    header_sha256: headerSha256,
  };
}
