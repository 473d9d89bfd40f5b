import { createHash } from 'node:crypto';
import { open, realpath, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { decrypt, decryptFile, fileSource, openContainer, openHeader } from '../../../crypt4gh/index.ts';
import { UsageError } from '../../../terminal/errors.ts';
import { printable } from '../../../terminal/output.ts';
import { checkFile, type FileVerdict } from '../../api/delivery/check-file.ts';
import { type Claim, Claims } from '../../api/delivery/claims.ts';
import { receiptNames } from '../../api/delivery/receipt-files.ts';
import { readHeader } from '../../api/download/disk/container-digest.ts';
import { ifThere, syncFolder } from '../../api/download/disk/local-disk.ts';
import { ClientError, throwIfInterrupted } from '../../api/errors.ts';
import { type Input, openInput } from '../files/input.ts';
import { type OutputFileOptions, outputOf, reportWritten } from '../files/options.ts';
import { existsAlready, type Sink, writeOutput } from '../files/output-file.ts';
import { counted, sliced } from '../files/streams.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { keysOf, readFolder } from '../folder-receipts.ts';
import { type PrivateKeys, readPrivateKeys, readPublicKey } from '../key-files.ts';
import { type ByteRangeOption, checkWithin } from '../range.ts';
import type { Session } from '../session.ts';

export interface DecryptOptions extends OutputFileOptions {
  readonly range?: ByteRangeOption | undefined;
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

interface Opening {
  readonly privateKeys: readonly Uint8Array[];
  readonly sender?: Uint8Array;
}

/** Milliseconds to wait for the service's keys: without them files are decrypted, but not verified. */
const keySetMs = 10_000;

/** Decrypts the files of one command, with the same keys and receipts. Its disposal overwrites the keys. */
export class DecryptRun implements Disposable {
  readonly #session: Session;
  readonly #options: DecryptOptions;
  readonly #resumes: boolean;
  readonly #claims = new Map<string, Promise<Claims>>();
  #keys: PrivateKeys | undefined;

  /** @param resumes whether a plaintext that exists and is right is skipped; otherwise any is refused without --force */
  constructor(session: Session, options: DecryptOptions, resumes: boolean) {
    this.#session = session;
    this.#options = options;
    this.#resumes = resumes;
  }

  /** The user's private keys; they are asked for once. */
  async keys(): Promise<PrivateKeys> {
    this.#keys ??= await readPrivateKeys(this.#session);
    return this.#keys;
  }

  /** @throws ClientError `damaged`, `not_verified`, `local_disk`; Crypt4ghError; UsageError */
  async decrypt(file: FileToDecrypt): Promise<Opened> {
    const { terminal, output } = this.#session;
    const { input, output: name } = file;
    const options = this.#options;
    await using container = await openInput(input, terminal);
    const target = resolve(terminal.folder, name);
    const skipped = this.#resumes && !options.force ? await this.#kept(file, container, target) : undefined;
    let verdict = skipped?.verdict;
    if (skipped === undefined) {
      // Only the owner can read the plaintext.
      await writeOutput({ ...outputOf(name, options, terminal), mode: 0o600 }, async (sink) => {
        verdict = await this.#decryptTo(sink, file, container);
      });
    }
    const verified = verdict?.state === 'plaintext' || verdict?.state === 'bytes' ? verdict.state : undefined;
    const isWhole = container.handle && options.range === undefined;
    const doubt = isWhole && !verified ? (verdict?.detail ?? 'no delivery receipt names it') : undefined;
    if (skipped === undefined) reportWritten(output, { file: input, output: name, verified }, doubt);
    if (options.delete && verdict?.state === 'plaintext') {
      await flush(await realpath(target));
      await rm(resolve(terminal.folder, input));
    }
    return { outcome: skipped === undefined ? 'decrypted' : 'skipped', verified };
  }

  [Symbol.dispose](): void {
    this.#keys?.[Symbol.dispose]();
  }

  /** What the receipts say of a file; `undefined`: nothing. */
  async #claimOf({ root, path }: FileToDecrypt, { handle }: Input): Promise<Claim | undefined> {
    if (handle === undefined) return undefined;
    const claims = this.#claims.get(root) ?? this.#claimsIn(resolve(this.#session.terminal.folder, root));
    this.#claims.set(root, claims);
    return (await claims).at(path);
  }

  async #claimsIn(folder: string): Promise<Claims> {
    const names = await receiptNames(folder);
    if (names.length === 0) return new Claims([]);
    const session = this.#session;
    const { signal } = session.terminal;
    const opened = (await this.keys()).files;
    try {
      const keys = await keysOf(session, this.#options.keys, AbortSignal.any([signal, AbortSignal.timeout(keySetMs)]));
      return (await readFolder(session, folder, { names, keys, opened })).claims;
    } catch (error) {
      throwIfInterrupted(signal);
      if (this.#options.keys !== undefined || !(error instanceof ClientError || error instanceof UsageError))
        throw error;
      const why =
        error instanceof ClientError && error.code === 'interrupted' ? 'the service does not answer' : error.message;
      session.output.warn(printable(`the delivery receipts cannot be verified: ${why}`));
      return new Claims([]);
    }
  }

  async #opening(): Promise<Opening> {
    const { sender } = this.#options;
    const privateKeys = (await this.keys()).raw;
    if (sender === undefined) return { privateKeys };
    return { privateKeys, sender: await readPublicKey('--sender', sender, this.#session.terminal) };
  }

  /**
   * What the receipt says of a plaintext that exists and is right.
   * @returns `undefined` if none exists
   * @throws ClientError `local_disk` if it is not right
   */
  async #kept(file: FileToDecrypt, container: Input, target: string) {
    // Opening a named pipe would wait for its writer.
    if (!(await ifThere(stat(target)))?.isFile()) return undefined;
    await using existing = await open(target, 'r');
    const claim = await this.#claimOf(file, container);
    if (claim?.file.plaintext_sha256 !== undefined) {
      const verdict = await this.#check(target, claim, 'plaintext');
      if (verdict?.state === 'plaintext') return { verdict };
    }
    // With an edit list, or without a receipt, only the container shows what is right.
    const opening = await this.#opening();
    checkSize(file, container, claim);
    using task = this.#session.progress.task(container.label, container.size);
    let at = 0;
    for await (const chunk of decrypt(counted(container.stream(), task.add), opening)) {
      const { bytesRead, buffer } = await existing.read(Buffer.alloc(chunk.length), 0, chunk.length, at);
      if (bytesRead < chunk.length || !buffer.equals(chunk)) throw existsAlready(file.output, ', with other content');
      at += chunk.length;
    }
    if ((await existing.stat()).size !== at) throw existsAlready(file.output, ', with other content');
    return { verdict: await this.#checkedContainer(file, claim) };
  }

  /** @returns what the receipt says of it */
  async #decryptTo(sink: Sink, file: FileToDecrypt, container: Input): Promise<FileVerdict | undefined> {
    const opening = await this.#opening();
    const claim = await this.#claimOf(file, container);
    checkSize(file, container, claim);
    const { range } = this.#options;
    const listed = range === undefined ? claim?.file.plaintext_sha256 : undefined;
    const isEdited = claim !== undefined && (await hasEditList(container, opening));
    const hash = listed !== undefined && sink.path === undefined && !isEdited ? createHash('sha256') : undefined;
    await this.#write(sink, container, opening, (bytes) => hash?.update(bytes));
    if (claim === undefined || range !== undefined) return undefined;
    if (hash) return accepted(file, claim, hash.digest('hex') === listed ? { state: 'plaintext', size: 0 } : otherSum);
    if (sink.path === undefined || listed === undefined || isEdited) return await this.#checkedContainer(file, claim);
    return accepted(file, claim, await this.#check(sink.path, claim, 'plaintext'));
  }

  async #checkedContainer(
    { input, ...file }: FileToDecrypt,
    claim: Claim | undefined,
  ): Promise<FileVerdict | undefined> {
    if (claim === undefined) return undefined;
    const path = resolve(this.#session.terminal.folder, input);
    return accepted({ input, ...file }, claim, await this.#check(path, claim, 'container'));
  }

  async #check(
    path: string,
    { file: claim }: Claim,
    form: 'container' | 'plaintext',
  ): Promise<FileVerdict | undefined> {
    const { terminal, progress } = this.#session;
    const size = form === 'container' ? claim.size : claim.plaintext_size;
    using task = progress.task(`${printable(claim.name)}, comparing`, size);
    const privateKeys = (await this.keys()).raw;
    return await checkFile({ path, claim, form, privateKeys, onBytes: task.add, signal: terminal.signal });
  }

  async #write(sink: Sink, container: Input, opening: Opening, onBytes: (bytes: Uint8Array) => void) {
    const { progress, terminal } = this.#session;
    const { range } = this.#options;
    const { handle, label, size } = container;
    if (range && handle) {
      const reader = await openContainer(await fileSource(handle), opening);
      if (reader.size !== undefined) checkWithin(range, reader.size);
      await sink.write(reader.stream(range.start, range.end));
      return;
    }
    await using workers = threadsFor(size, terminal.signal, container.isPipe);
    if (workers && handle && sink.handle && !range) {
      const target = sink.handle;
      await whileGrowing(target, { progress, label, total: size ?? 0 }, () =>
        decryptFile(handle, target, { ...opening, workers }),
      );
      return;
    }
    using task = progress.task(label, size);
    const how = { ...opening, ...(workers && { workers }), reuseMemory: true };
    const plaintext = seen(decrypt(counted(container.stream(), task.add), how), onBytes);
    await sink.write(range ? sliced(plaintext, range) : plaintext);
  }
}

const otherSum: FileVerdict = { state: 'differs', size: 0, detail: 'its plaintext has another SHA-256' };

/** @throws ClientError `damaged` if the receipt lists more bytes than the container has */
function checkSize({ input }: FileToDecrypt, { size }: Input, claim: Claim | undefined): void {
  if (claim === undefined || size === undefined || size >= claim.file.size) return;
  throw new ClientError('damaged', `${printable(input)} is cut off: ${size} of ${claim.file.size} bytes`, {
    remedy: 'Delete it, and download it again.',
  });
}

/** @throws ClientError `not_verified` if a file is not what its receipt says */
function accepted(
  { input }: FileToDecrypt,
  { receipt }: Claim,
  verdict: FileVerdict | undefined,
): FileVerdict | undefined {
  if (verdict?.state !== 'differs') return verdict;
  const message = `${printable(input)} differs from delivery receipt ${receipt.jti}: ${verdict.detail}`;
  throw new ClientError('not_verified', message, {
    remedy: 'The plaintext is not kept. Download the file again. If it differs again, tell the operator.',
  });
}

async function hasEditList({ handle }: Input, { privateKeys, sender }: Opening): Promise<boolean> {
  const header = handle && (await readHeader(await fileSource(handle)));
  if (header === undefined) return false;
  const { dataKeys, editList } = openHeader(header, privateKeys, { sender });
  for (const key of dataKeys) key.fill(0);
  return editList !== undefined;
}

async function* seen(source: AsyncIterable<Uint8Array>, onBytes: (bytes: Uint8Array) => void) {
  for await (const chunk of source) {
    onBytes(chunk);
    yield chunk;
  }
}

/** Resolves when a file and its name are on the disk. */
async function flush(path: string): Promise<void> {
  {
    await using file = await open(path, 'r+');
    await file.sync();
  }
  await syncFolder(dirname(path));
}
