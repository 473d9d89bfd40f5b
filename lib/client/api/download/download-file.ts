import { ChecksumError, type ClientError } from '../errors.ts';
import { giveBack } from '../read-memory.ts';
import type { Transport } from '../transport.ts';
import { checkOf } from './check.ts';
import { Checkpoints } from './disk/checkpoints.ts';
import { ComparedFile, DifferentError } from './disk/compared-file.ts';
import { type Existing, isWhole } from './disk/existing.ts';
import { checkSpace, discard, finish } from './disk/finish.ts';
import { leftOver } from './disk/journal.ts';
import type { LocalPaths } from './disk/local-name.ts';
import { FileLock } from './disk/lock.ts';
import { PartFile, type ReadableTarget, type Target } from './disk/part-file.ts';
import type { SmallFiles } from './disk/small-files.ts';
import type { DownloadEvent } from './events.ts';
import type { Expectation, Verified } from './expected.ts';
import { fetchRange } from './remote/in-order.ts';
import { ChangedError, type ObjectVersion, type RemoteFile } from './remote/remote-file.ts';
import { Transfer, type TransferOptions } from './transfer.ts';

export interface DownloadFileOptions {
  readonly remote: RemoteFile;
  readonly paths: LocalPaths;
  readonly connections: number;
  readonly wholeBytes?: TransferOptions['wholeBytes'];
  readonly existing: Existing;
  /** Whether the file is on the disk before it gets its name; default: yes. */
  readonly sync?: boolean | undefined;
  /** Writes small files of the run; default: they are written as large ones. */
  readonly smallFiles?: SmallFiles;
  /** Called when a small file only waits for the disk. */
  readonly written?: (() => void) | undefined;
  /** What the file must be; default: it is not compared. */
  readonly expected?: Expectation;
  readonly transport: Transport;
  readonly onEvent: (event: DownloadEvent) => void;
  readonly signal: AbortSignal | undefined;
}

export interface Downloaded {
  readonly outcome: 'downloaded' | 'skipped';
  /** How it was compared with what was expected; `undefined`: it was not, or too little was expected. */
  readonly verified: Verified | undefined;
}

/** How often a download may restart because the remote file was replaced. */
const mostRestarts = 3;

/**
 * Downloads one file. The file gets its name only when it is whole and on the disk. Until then it is `<name>.part`. However
 * this run ends, the next one goes on with the bytes that exist.
 * @throws ClientError
 */
export async function downloadFile(options: DownloadFileOptions): Promise<Downloaded> {
  const atOnce = await restarted(options, downloadAtOnce);
  if (atOnce) return { outcome: 'downloaded', ...atOnce };
  await using _lock = await FileLock.acquire(options.paths.lock);
  let compared: Compared | undefined;
  const isKept = await isWhole(options, async () => {
    compared = await compareWithRemote(options);
    return compared !== undefined;
  });
  // What is expected can refuse the file.
  if (isKept) {
    await options.expected;
    return { outcome: 'skipped', verified: compared?.verified };
  }
  return { outcome: 'downloaded', ...(await restarted(options, downloadVersion)) };
}

type Compared = Pick<Downloaded, 'verified'>;

/** Does the work, again if the remote file was replaced meanwhile. */
async function restarted<T>(
  options: DownloadFileOptions,
  work: (options: DownloadFileOptions) => Promise<T>,
): Promise<T> {
  const { name } = options.remote;
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await work(options);
    } catch (error) {
      if (!(error instanceof ChangedError) || restarts >= mostRestarts) throw error;
      options.onEvent({ type: 'restarted', name });
    }
  }
}

/** Downloads a small new file into memory, then writes it. @returns `undefined` if it did not */
async function downloadAtOnce(options: DownloadFileOptions): Promise<Compared | undefined> {
  const { remote, paths, smallFiles, written, transport, onEvent, signal } = options;
  const { name, size } = remote;
  if (!smallFiles?.suits(size, paths)) return undefined;
  onEvent({ type: 'started', name, size, kept: 0 });
  const retrying = (error: ClientError) => onEvent({ type: 'retrying', name, error });
  const whole = { range: { start: 0, end: size }, known: undefined };
  const { version, chunks } = await fetchRange(remote, whole, { transport, signal, retrying });
  const bytes = Buffer.concat(chunks);
  giveBack(chunks);
  onEvent({ type: 'progress', name, bytes: size });
  const memory: ReadableTarget = {
    write: async () => undefined,
    read: async (position, length) => bytes.subarray(position, position + length),
  };
  const check = await checkOf(memory, name, options.expected);
  await check?.write([bytes], 0);
  const verified = await check?.verdict(signal);
  const modified = modifiedOf(version);
  const isWritten = await smallFiles.write(paths, bytes, modified, written);
  return isWritten ? { verified } : undefined;
}

function modifiedOf(version: ObjectVersion | undefined): Date | undefined {
  const modified = new Date(version?.lastModified ?? Number.NaN);
  return Number.isNaN(modified.getTime()) ? undefined : modified;
}

/** Reads all of the remote file and writes nothing. @returns `undefined` if the local file has other bytes */
async function compareWithRemote(options: DownloadFileOptions): Promise<Compared | undefined> {
  const { remote, paths, onEvent, signal } = options;
  const { name } = remote;
  await using file = await ComparedFile.open(paths.final);
  if (file === undefined) return undefined;
  onEvent({ type: 'comparing', name });
  onEvent({ type: 'started', name, size: remote.size, kept: 0 });
  const kept = (bytes: number) => onEvent({ type: 'progress', name, bytes });
  const check = await checkOf(file, name, options.expected);
  const transfer = transferTo(check ?? file, options, { resumed: undefined, kept });
  try {
    if ((await transfer.run()) !== (await file.size())) return undefined;
  } catch (error) {
    if (error instanceof DifferentError) return undefined;
    throw error;
  }
  const verified = await check?.verdict(signal);
  await file.setModified(modifiedOf(transfer.state?.version));
  return { verified };
}

function transferTo(
  part: Target,
  { remote, connections, wholeBytes, transport, onEvent, signal }: DownloadFileOptions,
  more: Pick<TransferOptions, 'resumed' | 'kept'>,
): Transfer {
  const retrying = (error: ClientError) => onEvent({ type: 'retrying', name: remote.name, error });
  return new Transfer({ remote, part, connections, wholeBytes, transport, signal, retrying, ...more });
}

async function downloadVersion(options: DownloadFileOptions): Promise<Compared> {
  const { remote, paths, transport, onEvent, signal, sync = true } = options;
  const { name } = remote;
  await using part = await PartFile.open(paths.part);
  const { resumed, exists, synced } = await leftOver(part, paths, { name, size: remote.size });
  const { timing } = transport;
  const checkpoints = new Checkpoints({ part, path: paths.journal, timing, name, exists, synced, sync });
  if (resumed === undefined) {
    await checkpoints.forget();
    if (exists) await part.renew();
  }
  const check = await checkOf(part, name, options.expected);
  const transfer = transferTo(check ?? part, options, {
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
    await checkpoints.written();
    const modified = modifiedOf(transfer.state?.version);
    const verified = await check?.verdict(signal);
    await finish(part, { size, modified }, { ...options, sync }, checkpoints);
    return { verified };
  } catch (error) {
    const { state } = transfer;
    const isWrong = error instanceof ChangedError || error instanceof ChecksumError;
    const isOfUse = !isWrong && state !== undefined && state.done.size > 0;
    // The first failure tells more than a failure to clean up after it.
    const left = isOfUse ? checkpoints.save(state.version, state.done) : discard(part, checkpoints);
    await left.catch(() => undefined);
    throw error;
  }
}
