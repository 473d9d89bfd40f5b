import type { Archive, Catalogue, Clock, ObjectHead, OutboxWriter } from '../archive/ports.ts';
import { cleanUpMs, writeContainer } from '../archive/write-container.ts';
import { directExpiryDays, directKey } from '../contract/direct-key.ts';
import { outboxMetadata } from '../contract/outbox-key.ts';
import { TemporarilyUnavailableError } from '../errors.ts';
import { accessRefused } from './access-refused.ts';
import type { Container } from './container.ts';
import type { DirectUrls, SignedUrl } from './ports.ts';

/** By how much our clock and that of S3 may differ, and what the date of an upload may be before its end. */
const slackMs = 15 * 60_000;
const dayMs = 24 * 60 * 60_000;

export interface AssemblyDependencies {
  readonly archive: Archive;
  readonly outbox: OutboxWriter;
  readonly catalogue: Pick<Catalogue, 'isReleased'>;
  readonly urls: Pick<DirectUrls, 'container'>;
  readonly now: Clock;
}

/** The request for which a container is made. */
export interface AssemblyRequest {
  readonly requestId: string;
  /** Milliseconds until the invocation ends. */
  readonly remainingMs: () => number;
}

export interface Assembled extends SignedUrl {
  /** Whether the container was there already. */
  readonly reused: boolean;
}

/**
 * The container as an object of its own, made inside S3 as staged ones are, and a URL of it. Its key follows from its
 * bytes: whoever asks for the same container, again or at the same moment, is given the same object. It becomes visible
 * when it is whole; until then, and after any failure, there is nothing.
 *
 * @throws ForbiddenError when the dataset is withdrawn meanwhile; TemporarilyUnavailableError, also when the invocation
 * ends too soon; ArchiveDamagedError
 */
export async function assembled(
  container: Container,
  dependencies: AssemblyDependencies,
  request: AssemblyRequest,
): Promise<Assembled> {
  const key = directKey(container.digest, container.fileName);
  const present = await dependencies.outbox.head(key);
  const reusable = await lastingUrl(key, present, container, dependencies);
  if (reusable) return { ...reusable, reused: true };
  if ((await assemble(key, present, container, dependencies, request)) === 'written') {
    return { ...(await dependencies.urls.container(key)), reused: false };
  }
  const theirs = await lastingUrl(key, await dependencies.outbox.head(key), container, dependencies);
  if (theirs) return { ...theirs, reused: true };
  throw new TemporarilyUnavailableError('another request writes this container at the same time', {
    retryAfterSeconds: 5,
  });
}

/** A URL of the object, if the object stays for as long. The lifecycle rule counts days from its date, and may be late. */
async function lastingUrl(
  key: string,
  object: ObjectHead | undefined,
  { size }: Container,
  { urls }: AssemblyDependencies,
): Promise<SignedUrl | undefined> {
  if (object?.size !== size) return undefined;
  // Signing sends nothing.
  const signed = await urls.container(key);
  const stays = object.lastModified.getTime() + directExpiryDays * dayMs;
  return stays > signed.expiresAt.getTime() + slackMs ? signed : undefined;
}

function assemble(
  key: string,
  present: ObjectHead | undefined,
  { file, keyFingerprint, header, source, ranges }: Container,
  { archive, outbox, catalogue, now }: AssemblyDependencies,
  { requestId, remainingMs }: AssemblyRequest,
) {
  const [range, ...others] = ranges;
  if (!range || others.length > 0) throw new RangeError('expected a container of one range of the body');
  const metadata = {
    // Tells this attempt's object from that of another one, if the answer to the last call is lost.
    [outboxMetadata.requestId]: requestId,
    [outboxMetadata.requestedAt]: now().toISOString(),
    [outboxMetadata.fileId]: encodeURIComponent(file.fileId),
    [outboxMetadata.datasetId]: encodeURIComponent(file.datasetId),
    [outboxMetadata.keyFingerprint]: keyFingerprint,
  };
  const body = { ...source, bodySize: range.end - range.start };
  return writeContainer(
    // One that is about to be removed is replaced, by the same bytes: a download of it under way does not notice.
    { key, metadata, header, body, bodyStart: range.start, replaces: present?.etag },
    {
      archive,
      outbox,
      checkTime: () => {
        if (remainingMs() < cleanUpMs) throw new TemporarilyUnavailableError('the container needs more time');
      },
      confirm: async () => {
        if (!(await catalogue.isReleased(file.datasetId))) throw accessRefused();
      },
    },
  );
}
