import { createHash } from 'node:crypto';
import { open, realpath, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { counted } from '../../../common/streams.ts';
import { decrypt, decryptFile, fileSource, openHeader } from '../../../crypt4gh/index.ts';
import { UsageError } from '../../../terminal/errors.ts';
import { printable } from '../../../terminal/output.ts';
import { checkFile, type FileVerdict } from '../../api/download/check-file.ts';
import { readHeader } from '../../api/download/disk/container-digest.ts';
import { ifThere, syncFolder } from '../../api/download/disk/local-disk.ts';
import { ClientError, throwIfInterrupted } from '../../api/errors.ts';
import { type Claim, Claims } from '../../api/receipts/claims.ts';
import { receiptNames } from '../../api/receipts/receipt-files.ts';
import { type Input, openInput } from '../files/input.ts';
import { type OutputFileOptions, outputOf, reportWritten } from '../files/options.ts';
import { existsAlready, type Sink, writeOutput } from '../files/output-file.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { keysOf, readFolder } from '../folder-receipts.ts';
import { type PrivateKeys, readPublicKey } from '../key-files.ts';
import type { Session } from '../session.ts';

export interface DecryptOptions extends OutputFileOptions {
  readonly sender?: string;
  /** File with the service's key set. */
  readonly keys?: string;
  readonly delete?: boolean;
}

export interface FileToDecrypt {
  /** As the user wrote it, or a path below a folder that the user named. */
  readonly input: string;
  readonly output: string;
  /** The folder of its receipts, and its path there. */
  readonly root: string;
  readonly path: string;
  /** Whether the user named its folder, not the file. */
  readonly isOfFolder: boolean;
}

export interface Opened {
  readonly outcome: 'decrypted' | 'skipped';
  /** How its receipt proves it; `undefined`: not verified. */
  readonly verified: 'plaintext' | 'bytes' | undefined;
}

/** A container that is being decrypted, and what the receipts say of it. */
interface Job {
  readonly file: FileToDecrypt;
  readonly container: Input;
  readonly claim: Claim | undefined;
  readonly opening: { readonly privateKeys: readonly Uint8Array[]; readonly sender?: Uint8Array };
}

/** Milliseconds to wait for the service's keys: without them files are decrypted, but not verified. */
const keySetMs = 10_000;

/**
 * Decrypts the files of one command, with the same keys and receipts.
 * @param readKeys the user's private keys
 * @param resumes whether a plaintext that exists and is right is skipped; otherwise any is refused without --force
 */
export function decryption(
  session: Session,
  options: DecryptOptions,
  readKeys: () => Promise<PrivateKeys>,
  resumes: boolean,
) {
  const { terminal, output, progress } = session;
  const { signal } = terminal;
  const pathOf = (name: string) => resolve(terminal.folder, name);
  const claimsOf = new Map<string, Promise<Claims>>();

  const claimsIn = async (folder: string): Promise<Claims> => {
    const names = await receiptNames(folder);
    if (names.length === 0) return new Claims([]);
    const opened = (await readKeys()).files;
    try {
      const keys = await keysOf(session, options.keys, AbortSignal.any([signal, AbortSignal.timeout(keySetMs)]));
      return (await readFolder(session, folder, { names, keys, opened })).claims;
    } catch (error) {
      throwIfInterrupted(signal);
      const isKnown = error instanceof ClientError || error instanceof UsageError;
      if (options.keys !== undefined || !isKnown) throw error;
      const why = error.code === 'interrupted' ? 'the service does not answer' : error.message;
      output.warn(printable(`the delivery receipts cannot be verified: ${why}`));
      return new Claims([]);
    }
  };

  const jobOf = async (file: FileToDecrypt, container: Input): Promise<Job> => {
    const sender = options.sender && (await readPublicKey('--sender', options.sender, terminal));
    const opening = { privateKeys: (await readKeys()).raw, ...(sender && { sender }) };
    if (container.handle === undefined) return { file, container, opening, claim: undefined };
    const claims = claimsOf.get(file.root) ?? claimsIn(pathOf(file.root));
    claimsOf.set(file.root, claims);
    return { file, container, opening, claim: (await claims).at(file.path) };
  };

  /** Compares a local file with the receipt. */
  const compare = async ({ claim, opening: { privateKeys } }: Job, path: string, form: 'container' | 'plaintext') => {
    if (claim === undefined) return undefined;
    const size = form === 'container' ? claim.file.size : claim.file.plaintext_size;
    using task = progress.task(`${printable(claim.file.name)}, comparing`, size);
    return await checkFile({ path, claim: claim.file, form, privateKeys, onBytes: task.add, signal });
  };
  const checkContainer = async (job: Job) => accepted(job, await compare(job, pathOf(job.file.input), 'container'));

  /**
   * What the receipt says of a plaintext that exists and is right, and whether it was compared itself; `undefined`: none exists.
   * @throws ClientError `local_disk` if it is not right
   */
  const kept = async (job: Job, target: string) => {
    // Opening a named pipe would wait for its writer.
    if (!(await ifThere(stat(target)))?.isFile()) return undefined;
    const { container, claim, file } = job;
    if (claim?.file.plaintext_sha256 !== undefined) {
      const verdict = await compare(job, target, 'plaintext');
      if (verdict?.state === 'plaintext') return { verdict, isPlaintextCompared: true };
    }
    // With an edit list, or without a receipt, only the container shows what is right.
    checkSize(job);
    const otherContent = () => existsAlready(file.output, ', with other content');
    await using existing = await openInput(file.output, terminal);
    using task = progress.task(container.label, container.size);
    let at = 0;
    for await (const chunk of decrypt(counted(container.stream(), task.add), job.opening)) {
      const found = await existing.handle?.read(Buffer.alloc(chunk.length), 0, chunk.length, at);
      if (!found?.buffer.subarray(0, found.bytesRead).equals(chunk)) throw otherContent();
      at += chunk.length;
    }
    if (existing.size !== at) throw otherContent();
    return { verdict: await checkContainer(job), isPlaintextCompared: false };
  };

  const write = async (sink: Sink, { container, opening }: Job, onBytes: (bytes: Uint8Array) => void) => {
    const { handle, label, size } = container;
    await using workers = threadsFor(size, signal, container.isPipe);
    if (workers && handle && sink.handle) {
      const target = sink.handle;
      const work = () => decryptFile(handle, target, { ...opening, workers });
      return void (await whileGrowing(target, { progress, label, total: size ?? 0 }, work));
    }
    using task = progress.task(label, size);
    const how = { ...opening, ...(workers && { workers }), reuseMemory: true };
    const plaintext = decrypt(counted(container.stream(), task.add), how);
    await sink.write(counted(plaintext, (_, chunk) => onBytes(chunk)));
  };

  /** @returns what the receipt says of it, and whether it says so of the plaintext rather than of the container */
  const decryptTo = async (sink: Sink, job: Job) => {
    const { claim } = job;
    checkSize(job);
    const hasSum = claim?.file.plaintext_sha256 !== undefined && !(await hasEditList(job));
    const hash = createHash('sha256');
    const isPiped = sink.path === undefined;
    await write(sink, job, (bytes) => hasSum && isPiped && hash.update(bytes));
    if (!hasSum) return { verdict: await checkContainer(job), isPlaintextCompared: false };
    const otherSum = { state: 'differs', size: 0, detail: 'its plaintext has another SHA-256' } as const;
    const isRight = () => hash.digest('hex') === claim?.file.plaintext_sha256;
    const piped = () => (isRight() ? ({ state: 'plaintext', size: 0 } as const) : otherSum);
    const found = isPiped ? piped() : await compare(job, sink.path, 'plaintext');
    return { verdict: accepted(job, found), isPlaintextCompared: true };
  };

  /** @throws ClientError `damaged`, `not_verified`, `local_disk`; Crypt4ghError; UsageError */
  return async (file: FileToDecrypt): Promise<Opened> => {
    const { input, output: name } = file;
    await using container = await openInput(input, terminal);
    const target = pathOf(name);
    const skipped = resumes && !options.force ? await kept(await jobOf(file, container), target) : undefined;
    // Only the owner can read the plaintext.
    const to = { ...outputOf(name, options, terminal), mode: 0o600 };
    const { verdict, isPlaintextCompared } =
      skipped ?? (await writeOutput(to, async (sink) => await decryptTo(sink, await jobOf(file, container))));
    const verified = verdict?.state === 'plaintext' || verdict?.state === 'bytes' ? verdict.state : undefined;
    const doubt = container.handle && !verified ? (verdict?.detail ?? 'no delivery receipt names it') : undefined;
    if (skipped === undefined) reportWritten(output, { file: input, output: name, verified }, doubt);
    if (options.delete && isPlaintextCompared && verdict?.state === 'plaintext') {
      await flush(await realpath(target));
      await rm(pathOf(input));
    }
    return { outcome: skipped === undefined ? 'decrypted' : 'skipped', verified };
  };
}

/** @throws ClientError `damaged` if the receipt lists more bytes than the container has */
function checkSize({ file: { input }, container: { size }, claim }: Job): void {
  if (claim === undefined || size === undefined || size >= claim.file.size) return;
  throw new ClientError('damaged', `${printable(input)} is cut off: ${size} of ${claim.file.size} bytes`, {
    remedy: 'Delete it, and download it again.',
  });
}

/** @throws ClientError `not_verified` if a file is not what its receipt says */
function accepted({ file: { input }, claim }: Job, verdict: FileVerdict | undefined) {
  if (verdict?.state !== 'differs') return verdict;
  const message = `${printable(input)} differs from delivery receipt ${claim?.receipt.jti}: ${verdict.detail}`;
  throw new ClientError('not_verified', message, {
    remedy: 'The plaintext is not kept. Download the file again. If it differs again, tell the operator.',
  });
}

async function hasEditList({ container: { handle }, opening }: Job): Promise<boolean> {
  const header = handle && (await readHeader(await fileSource(handle)));
  if (header === undefined) return false;
  const { dataKeys, editList } = openHeader(header, opening.privateKeys, { sender: opening.sender });
  for (const key of dataKeys) key.fill(0);
  return editList !== undefined;
}

/** Resolves when a file and its name are on the disk. */
async function flush(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.sync();
  await syncFolder(dirname(path));
}
