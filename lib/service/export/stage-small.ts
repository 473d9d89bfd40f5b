import { TemporarilyUnavailableError } from '../../errors.ts';
import { checkTimeLeft, containerCrc } from '../archive/write-container.ts';
import {
  alreadyWritten,
  type Delivery,
  type ExportOrder,
  headerOf,
  metadataOf,
  type StageDependencies,
  type Written,
} from './export-order.ts';

/**
 * Stage a file of at most 8 MiB: one GetObject, one PutObject. The write says on which condition it may happen, so the
 * outbox is looked at only when S3 refuses it.
 *
 * @throws ArchiveDamagedError when the body is missing or differs in size from the catalogue; errors of the ports
 */
export async function stageSmall(
  order: ExportOrder,
  { archive, outbox, archiveKeys }: Pick<StageDependencies, 'archive' | 'outbox' | 'archiveKeys'>,
  { remainingMs }: Pick<Delivery, 'remainingMs'>,
): Promise<Written> {
  const { key, message, publicKey, file } = order;
  const { header, headerSha256 } = await headerOf(order, archiveKeys);
  const { container, bodyCrc } = await archive.readWhole(file, file.archiveFileSize, header);
  const body = { bodySize: file.archiveFileSize, ...(bodyCrc && { crc64nvme: bodyCrc }) };
  const crc64nvme = await containerCrc(header, body);
  const metadata = metadataOf({ message, publicKey });
  let replaces: string | undefined;
  for (const _ of ['nothing is there', 'an older container is there']) {
    checkTimeLeft(remainingMs);
    if ((await outbox.put(key, container, metadata, replaces, crc64nvme)) === 'written') {
      return { outcome: 'staged', bytes: container.length, headerSha256, ...(crc64nvme && { crc64nvme }) };
    }
    const present = await outbox.head(key);
    const written = alreadyWritten(present, message, headerSha256);
    if (written) return written;
    replaces = present?.etag;
  }
  throw new TemporarilyUnavailableError('another request wrote this container at the same time');
}
