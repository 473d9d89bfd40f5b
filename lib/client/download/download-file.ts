import { open, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Crypt4ghError, decryptSegments, NoMatchingKeyError, type SegmentCipher } from '../../crypt4gh/index.ts';
import { ChecksumError, ClientError } from '../errors.ts';
import type { Transport } from '../transport.ts';
import { bootId } from './boot.ts';
import { Checkpoints } from './checkpoints.ts';
import { ComparedFile, DifferentError } from './compared-file.ts';
import { DecryptingSink } from './decrypting-sink.ts';
import type { DownloadEvent } from './events.ts';
import { type Existing, isWhole, refuseExisting } from './existing.ts';
import { type Form, partDone, readJournal, removeJournal } from './journal.ts';
import { LocalDiskError, onDisk } from './local-disk.ts';
import type { LocalPaths } from './local-name.ts';
import { FileLock } from './lock.ts';
import { PartDigest } from './part-digest.ts';
import { PartFile, privateMode } from './part-file.ts';
import type { ByteRange } from './range-set.ts';
import { ChangedError, isRecognizable, type ObjectVersion, type RemoteFile } from './remote-file.ts';
import { ContainerSink, type Target } from './sink.ts';
import { Transfer, type TransferOptions } from './transfer.ts';

/** Opens containers while they come. */
export interface Decryption {
  readonly privateKeys: readonly Uint8Array[];
  /** Such as `SegmentWorkers`; default: this thread. */
  readonly cipher?: Pick<SegmentCipher, 'decryptSegments'>;
}

export interface DownloadFileOptions {
  readonly remote: RemoteFile;
  readonly paths: LocalPaths;
  readonly connections: number;
  readonly existing: Existing;
  readonly decrypt?: Decryption | undefined;
  /** Whether only its owner may read the file; what is decrypted here is so anyway. */
  readonly isPrivate?: boolean;
  /** SHA-256 in lower-case hex that the whole file must have; default: not compared. Not together with `decrypt`. */
  readonly sha256?: string | undefined;
  readonly transport: Transport;
  readonly onEvent: (event: DownloadEvent) => void;
  readonly signal: AbortSignal | undefined;
}

/** What fails for want of less than this fails soon enough by itself. */
const leastCheckedBytes = 8 * 1024 * 1024;
/** How often a file may change under a download. */
const mostRestarts = 3;

/**
 * Downloads one file. It gets its name only when it is whole and on the disk; until then it is `<name>.part`, and what of
 * it is there is kept for the next run, whatever ends this one.
 *
 * @throws ClientError
 */
export async function downloadFile(options: DownloadFileOptions): Promise<'downloaded' | 'skipped'> {
  const { paths, remote } = options;
  await using _lock = await FileLock.acquire(paths.lock);
  if (await isWhole(options, () => isCopy(options))) return 'skipped';
  for (let restarts = 0; ; restarts += 1) {
    try {
      await downloadVersion(options);
      return 'downloaded';
    } catch (error) {
      if (!(error instanceof ChangedError) || restarts >= mostRestarts) throw described(error, remote.name);
      options.onEvent({ type: 'restarted', name: remote.name });
    }
  }
}

/** Whether the file that is there has the bytes of the remote one: all of that is read, and nothing written. */
async function isCopy(options: DownloadFileOptions): Promise<boolean> {
  const { remote, paths, onEvent } = options;
  const { name } = remote;
  await using file = await ComparedFile.open(paths.final);
  if (file === undefined) return false;
  onEvent({ type: 'comparing', name });
  onEvent({ type: 'started', name, size: remote.size, kept: 0 });
  const kept = (bytes: number) => onEvent({ type: 'progress', name, bytes });
  const transfer = transferTo(file, options, { resumed: undefined, kept });
  try {
    if ((await transfer.run()) !== (await file.size())) return false;
  } catch (error) {
    if (error instanceof DifferentError) return false;
    throw described(error, name);
  }
  await file.setModified(transfer.state?.version.lastModified);
  return true;
}

function transferTo(
  part: Target,
  { remote, connections, decrypt, transport, onEvent, signal }: DownloadFileOptions,
  more: Pick<TransferOptions, 'resumed' | 'kept'>,
): Transfer {
  const { name } = remote;
  return new Transfer({
    remote,
    connections,
    transport,
    signal,
    ...more,
    makeSink: (size, damaged) =>
      decrypt
        ? new DecryptingSink({ part, size, damaged, cipher: { decryptSegments }, ...decrypt })
        : new ContainerSink(part, size),
    retrying: (error) => onEvent({ type: 'retrying', name, error }),
    refetching: (segment) => onEvent({ type: 'refetching', name, segment }),
  });
}

async function downloadVersion(options: DownloadFileOptions): Promise<void> {
  const { remote, paths, decrypt, transport, onEvent } = options;
  const { name } = remote;
  const form: Form = decrypt ? 'plaintext' : 'container';
  // The lock is a file that this process has just made.
  const { uid } = await onDisk(paths.lock, () => stat(paths.lock));
  await using part = await PartFile.open(paths.part, decrypt || options.isPrivate ? privateMode : 0o666, uid);
  const { resumed, exists, synced } = await leftOver(part, paths, { name, form, size: remote.size });
  const checkpoints = new Checkpoints({
    part,
    path: paths.journal,
    timing: transport.timing,
    name,
    form,
    exists,
    synced,
  });
  if (resumed === undefined) {
    await checkpoints.forget();
    if (exists) await part.renew();
  }
  const { sha256: listed } = options;
  const digest = listed === undefined ? undefined : new PartDigest(part);
  const transfer = transferTo(digest ?? part, options, {
    resumed,
    kept(bytes, version, done) {
      onEvent({ type: 'progress', name, bytes });
      checkpoints.note(bytes, version, done);
    },
  });
  const kept = transfer.state?.done.size ?? 0;
  try {
    await checkSpace(paths.part, remote.size - kept);
    onEvent({ type: 'started', name, size: remote.size, kept });
    const size = await transfer.run();
    await checkpoints.settle();
    const found = await digest?.hex(options.signal);
    if (listed !== undefined && found !== undefined && found !== listed)
      throw new ChecksumError(name, { found, listed });
    await finish(part, { size, lastModified: transfer.state?.version.lastModified }, options, checkpoints);
  } catch (error) {
    const { state } = transfer;
    const isWrong = error instanceof ChangedError || error instanceof ChecksumError;
    const isOfUse = !isWrong && state !== undefined && state.done.size > 0;
    // What made it fail is of more use than what fails after it.
    const left = isOfUse ? checkpoints.save(state.version, state.done) : discard(part, checkpoints);
    await left.catch(() => undefined);
    throw error;
  }
}

/** What a run before has left, when it is of the same file in the same form; whether there is anything. */
async function leftOver(
  part: PartFile,
  paths: LocalPaths,
  wanted: { readonly name: string; readonly form: Form; readonly size: number },
): Promise<{
  readonly resumed: { readonly version: ObjectVersion; readonly done: readonly ByteRange[] } | undefined;
  readonly exists: boolean;
  readonly synced: readonly ByteRange[];
}> {
  const journal = await readJournal(paths.journal);
  const partSize = await part.size();
  const exists = journal !== 'absent' || partSize > 0;
  if (journal === 'absent' || journal === 'unusable') return { resumed: undefined, exists, synced: [] };
  const { name, form, version } = journal;
  const done = partDone(journal, bootId);
  const isSame = name === wanted.name && form === wanted.form && version.size === wanted.size;
  // Nobody shortens a part file; but who does, has made the journal wrong.
  const reach = form === 'container' ? (done.at(-1)?.end ?? 0) : Math.min(1, done.length);
  const isUsable = isSame && isRecognizable(version) && partSize >= reach;
  return isUsable
    ? { resumed: { version, done }, exists, synced: journal.synced }
    : { resumed: undefined, exists, synced: [] };
}

async function discard(part: PartFile, checkpoints: Checkpoints): Promise<void> {
  await checkpoints.forget();
  await rm(part.path, { force: true });
}

/**
 * The part gets its name: first its bytes are on the disk, then it is renamed, then nothing more speaks of it. The time of
 * the remote file says to later runs what it is.
 */
async function finish(
  part: PartFile,
  { size, lastModified }: { readonly size: number; readonly lastModified: string | undefined },
  { paths, existing }: DownloadFileOptions,
  checkpoints: Checkpoints,
): Promise<void> {
  const modified = new Date(lastModified ?? Number.NaN);
  if (!Number.isNaN(modified.getTime())) await part.setModified(modified);
  await part.sync();
  if ((await part.size()) !== size) {
    await checkpoints.forget();
    throw new LocalDiskError(`${part.path} was changed by another program`, {
      remedy: 'Run the same command again: it begins anew.',
    });
  }
  if (existing !== 'overwrite') await refuseExisting(paths.final);
  await onDisk(paths.final, () => rename(part.path, paths.final));
  if (!checkpoints.exists) return;
  await syncFolder(dirname(paths.final));
  await removeJournal(paths.journal);
}

/** Windows cannot do that, nor some network file systems: then the journal may outlive the part by a crash, which is harmless. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, 'r');
    await handle.sync();
  } catch {
    // The rename itself has been done.
  }
}

/** @throws LocalDiskError when there is less room than is needed, as far as the disk says */
async function checkSpace(path: string, needed: number): Promise<void> {
  if (needed < leastCheckedBytes) return;
  const { bavail, bsize, blocks } = await onDisk(path, () => statfs(dirname(path)));
  const room = bavail * bsize;
  if (blocks === 0 || room >= needed) return;
  throw new LocalDiskError(`${path} needs ${needed} more bytes, and the disk has room for ${room}`, {
    remedy: 'Make room there, or choose another disk with --output; what is there already is kept.',
  });
}

/** The error in the client's words. */
function described(error: unknown, name: string): unknown {
  if (!(error instanceof Crypt4ghError)) return error;
  if (error instanceof NoMatchingKeyError) {
    return new ClientError('forbidden', `${name}: ${error.message}`, {
      remedy: 'Give the private key that belongs to the public key of the export; data-out doctor tries your keys.',
      cause: error,
    });
  }
  return new ClientError('damaged', `${name}: ${error.message}`, {
    remedy: 'Ask for a new export of this file.',
    cause: error,
  });
}
