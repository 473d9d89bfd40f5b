import { createHash } from 'node:crypto';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../../terminal/errors.ts';
import { printable } from '../../../terminal/output.ts';
import { DataOutApi } from '../../api/data-out.ts';
import type { Existing } from '../../api/download/disk/existing.ts';
import { downloadFile } from '../../api/download/download-file.ts';
import { DirectFile, directContainer } from '../../api/download/remote/direct-file.ts';
import { inOrder } from '../../api/download/remote/in-order.ts';
import type { RemoteFile } from '../../api/download/remote/remote-file.ts';
import { ChecksumError } from '../../api/errors.ts';
import { downloadReporter } from '../download/download-reporter.ts';
import { localTarget } from '../download/local-target.ts';
import { writeOutput } from '../files/output-file.ts';
import { counted } from '../files/streams.ts';
import { readPublicKey } from '../key-files.ts';
import { existingOf, parseCount, withServiceOptions } from '../options.ts';
import { type ByteRangeOption, checkWithin, rangeOption } from '../range.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const afterHelp = `
Without --crypt4gh the service decrypts the file and sends the plaintext: store it only where you are allowed to. With
--crypt4gh it sends a Crypt4GH file for your key. After an interruption the same command resumes, unless it writes to standard
output.

The whole plaintext is compared with the catalogue's SHA-256, if it has one. If the two differ, the exit code is 8 and no file
is left; standard output has the bytes by then.

Examples:
  data-out datasets
  data-out files EGAD00000000001
  data-out fetch EGAF00000000001 --crypt4gh --public-key me.pub.pem
  data-out fetch EGAF00000000001 --range 0-65536 -o - | xxd | head`;

/** `fetch <fileId>`: downloads a file straight from the archive. */
export function registerFetch(program: Command, context: CommandContext): void {
  const fetching = program
    .command('fetch')
    .description('fetch a file from the archive, without an export')
    .argument('<fileId>', 'the file, as data-out files shows it')
    .option('--crypt4gh', 'a Crypt4GH file for your key, instead of plaintext')
    .option('--public-key <file>', 'with --crypt4gh: your public key')
    .addOption(rangeOption())
    .option('-o, --output <file>', 'file or folder; - for standard output (default: as the service names it)')
    .option('--connections <n>', 'connections', '8')
    .option('--overwrite', 'replace an existing file')
    .option('--skip-existing', 'keep an existing file of the right size');
  withServiceOptions(fetching)
    .addHelpText('after', afterHelp)
    .action(async (fileId, { crypt4gh, publicKey, range, output, ...options }, command) => {
      if (crypt4gh && publicKey === undefined) {
        throw usageError('--public-key', 'no key is given', 'Give the file with your public key.');
      }
      if (!crypt4gh && publicKey !== undefined) {
        throw usageError('--public-key', 'this needs --crypt4gh', 'Add --crypt4gh, or omit --public-key.');
      }
      const existing = existingOf(options);
      const connections = parseCount('--connections', options.connections, { from: 1, to: 64 });
      await using session = await openSession(context, command);
      const { terminal } = session;
      // A wrong key file fails before the first request.
      const key = publicKey === undefined ? undefined : await readPublicKey('--public-key', publicKey, terminal);
      const api = new DataOutApi(await session.service());
      const file = await remoteFile(api, { fileId, key, range }, terminal.signal);
      if (file.doubt !== undefined) session.output.note(`not compared with a checksum: ${file.doubt}`);
      if (output === '-') await toOutput(session, api, file, connections);
      else
        await toFile(session, api, file, {
          fileId,
          output,
          isContainer: key !== undefined,
          range,
          connections,
          existing,
        });
    });
}

interface NamedFile {
  readonly remote: RemoteFile;
  readonly name: string;
  /** SHA-256 that the bytes must have, in hex; `undefined`: they are not compared. */
  readonly sha256?: string | undefined;
  /** Why the bytes are not compared, for the user. */
  readonly doubt?: string;
}

async function remoteFile(
  api: DataOutApi,
  {
    fileId,
    key,
    range,
  }: { readonly fileId: string; readonly key: Uint8Array | undefined; readonly range: ByteRangeOption | undefined },
  signal: AbortSignal,
): Promise<NamedFile> {
  const container = async (publicKey: Uint8Array, coordinates?: { readonly start: number; readonly end: number }) => {
    const query = { publicKey: Buffer.from(publicKey).toString('base64'), coordinates };
    const remote = await directContainer(api, { fileId, query }, { signal });
    return { remote, name: remote.name };
  };
  if (key && !range) return await container(key);
  const { name, size } = await api.describe(fileId, {}, { signal });
  if (range) checkWithin(range, size);
  const part = range && { start: range.start, end: Math.min(range.end ?? size, size) };
  if (key) return await container(key, part);
  const remote = new DirectFile(api, { fileId, name, size, part });
  if (remote.size < size) return { remote, name, doubt: 'the listed checksum is of the whole file' };
  const sha256 = await api.sha256Of(fileId, { signal });
  return sha256 === undefined
    ? { remote, name, doubt: 'the service lists no SHA-256 of this file' }
    : { remote, name, sha256 };
}

/** `sample.bam` as `sample.bam.0-65536`. */
function partName(name: string, range: ByteRangeOption | undefined): string {
  return range === undefined ? name : `${name}.${range.start}-${range.end ?? ''}`;
}

/** The same bytes. @throws ChecksumError after the last one, if their SHA-256 is not `listed` */
async function* verified(source: AsyncIterable<Uint8Array>, name: string, listed: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
  const found = hash.digest('hex');
  if (found !== listed) throw new ChecksumError(name, { found, listed });
}

async function toOutput(
  { terminal, progress, output }: Session,
  api: DataOutApi,
  { remote, sha256 }: NamedFile,
  connections: number,
): Promise<void> {
  const { transport } = api.connection;
  const { signal } = terminal;
  using task = progress.task(printable(remote.name), remote.size);
  const retrying = (error: Error) => output.note(printable(`${error.message}; trying again`));
  const bytes = counted(inOrder(remote, { connections, transport, signal, retrying }), task.add);
  const checked = sha256 === undefined ? bytes : verified(bytes, remote.name, sha256);
  await writeOutput({ name: '-', terminal, toTerminal: true }, (sink) => sink.write(checked));
}

async function toFile(
  { terminal, progress, output }: Session,
  api: DataOutApi,
  { remote, name, sha256 }: NamedFile,
  wanted: {
    readonly fileId: string;
    readonly output: string | undefined;
    readonly isContainer: boolean;
    readonly range: ByteRangeOption | undefined;
    readonly connections: number;
    readonly existing: Existing;
  },
): Promise<void> {
  const { folder, signal } = terminal;
  const { isContainer, range, connections, existing } = wanted;
  const started = terminal.now().getTime();
  const reporter = downloadReporter(output, progress, 1);
  const { onEvent } = reporter;
  // For a part of a container, the service already names the range.
  const named = (each: string) => (isContainer ? each : partName(each, range));
  const paths = await localTarget(folder, wanted.output, { name: named(name), fallback: named(wanted.fileId) });
  const { outcome } = await downloadFile({
    ...{ remote, paths, connections, existing, onEvent, signal },
    isPrivate: !isContainer,
    expected: sha256 === undefined ? undefined : { sha256 },
    transport: api.connection.transport,
  });
  const compared = outcome === 'downloaded' ? sha256 : undefined;
  const result = { name: remote.name, size: remote.size, path: paths.final, outcome, sha256: compared };
  onEvent({ type: 'finished', result });
  reporter.summarize(terminal.now().getTime() - started);
}
