import { bodySource } from '../archive/body-source.ts';
import { headerFor } from '../archive/header.ts';
import { writeContainer } from '../archive/write-container.ts';
import { TemporarilyUnavailableError } from '../errors.ts';
import {
  confirmReleased,
  type Delivery,
  metadataOf,
  type Order,
  type StageDependencies,
  settledBy,
  type Written,
} from './order.ts';

/** Longest time a function may run. The invocation of an older upload has ended. */
const longestInvocationMs = 15 * 60 * 1000;

/**
 * Stage a file over 8 MiB: a multipart upload, of which S3 copies all but the first part.
 *
 * @throws RequestRejectedError when the release or the visa was withdrawn meanwhile; errors of the ports
 */
export async function stageLarge(
  { key, message, publicKey, file }: Order,
  dependencies: StageDependencies,
  delivery: Delivery,
): Promise<Written> {
  const { archive, outbox, archiveKeys, now } = dependencies;
  // An invocation that died could not abort its upload, even where another one has written the container since. An
  // invocation that may still run began later than this.
  if (delivery.redelivered) await outbox.abortUploads(key, new Date(now().getTime() - longestInvocationMs));
  const present = await outbox.head(key);
  const settled = settledBy(present, message);
  if (settled) return settled;

  const body = await bodySource(file, archive);
  const header = headerFor(file, await archiveKeys.candidates(file.keyHash), publicKey);
  const result = await writeContainer(
    { key, metadata: metadataOf({ message, publicKey }), header, body, replaces: present?.etag },
    {
      archive,
      outbox,
      remainingMs: delivery.remainingMs,
      confirm: () => confirmReleased({ message, file }, dependencies),
    },
  );
  if (result === 'written') return { outcome: 'staged', bytes: header.length + body.bodySize };
  const other = settledBy(await outbox.head(key), message);
  if (other) return other;
  throw new TemporarilyUnavailableError('another request wrote this container at the same time');
}
