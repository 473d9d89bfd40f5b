import { directExpiryDays, directKey } from '../../contract/direct-key.ts';
import { outboxMetadataOf } from '../../contract/outbox-key.ts';
import { unavailable } from '../../errors.ts';
import type { Archive, Catalogue, Clock, ObjectHead, OutboxWriter, SignedUrl } from '../archive/ports.ts';
import { writeContainer } from '../containers/write-container.ts';
import { accessRefused } from './access.ts';
import type { Container } from './container.ts';
import type { DirectUrls } from './ports.ts';

/** How far our clock and that of S3 may differ, plus the longest time from the start of an upload, which dates its object. */
const slackMs = 15 * 60_000;
const dayMs = 24 * 60 * 60_000;
/** A caller waits: S3 that asks to slow down for longer is told as a 503. */
const slowDownPatienceMs = 5_000;

export interface AssemblyDependencies {
  readonly archive: Archive;
  readonly outbox: Pick<OutboxWriter, 'head' | 'put' | 'startUpload'>;
  readonly catalogue: Pick<Catalogue, 'isReleased'>;
  readonly urls: Pick<DirectUrls, 'container'>;
  readonly now: Clock;
}

export interface AssemblyRequest {
  readonly requestId: string;
  readonly remainingMs: () => number;
}

export interface Assembled extends SignedUrl {
  readonly reused: boolean;
}

/**
 * The container as its own object, made inside S3 as staged ones are, and a URL of it. Its key follows from its
 * bytes: requests for the same container, also at the same moment, share one object. The object becomes visible when it is
 * whole. Until then, and after any failure, there is nothing.
 *
 * @throws `forbidden` when the dataset is withdrawn meanwhile; `temporarily_unavailable` also when the invocation ends
 * too soon
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
  throw unavailable('another request writes this container at the same time', {
    retryAfterSeconds: 5,
  });
}

/** A URL of the object, if the object outlives the URL. The lifecycle rule counts days from its date, and may be late. */
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
  const { fileId, datasetId } = file;
  // The request id tells this attempt's object from that of another one, if the answer to the last call is lost.
  const metadata = outboxMetadataOf({
    requestId,
    requestedAt: now().toISOString(),
    fileId,
    datasetId,
    keyFingerprint,
  });
  const body = { ...source, bodySize: range.end - range.start };
  return writeContainer(
    // An object that is about to be removed is replaced by the same bytes: a download of it continues.
    { key, metadata, header, body, bodyStart: range.start, replaces: present?.etag },
    {
      archive,
      outbox,
      remainingMs,
      patienceMs: slowDownPatienceMs,
      confirm: async () => {
        if (!(await catalogue.isReleased(datasetId))) throw accessRefused();
      },
    },
  );
}
