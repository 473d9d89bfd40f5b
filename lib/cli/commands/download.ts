import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Existing } from '../../client/download/disk/existing.ts';
import { downloadFiles } from '../../client/download/download-files.ts';
import { type ListedFile, ProxyApi } from '../../client/proxy.ts';
import { usageError } from '../../terminal/errors.ts';
import { DownloadReporter } from '../download/download-reporter.ts';
import { selectFiles } from '../download/select-files.ts';
import { threadsFor } from '../files/threads.ts';
import { readPrivateKeys } from '../key-files.ts';
import { parseCount, withKeyOptions, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface DownloadOptions {
  readonly all?: boolean;
  readonly output: string;
  readonly parallel: string;
  readonly connections: string;
  readonly decrypt?: boolean;
  readonly key?: readonly string[];
  readonly overwrite?: boolean;
  readonly skipExisting?: boolean;
  readonly sync: boolean;
}

const afterHelp = `
A file gets its name when it is whole. Until then it is NAME.part. After Ctrl-C, a lost network, a full disk or a crash the
same command goes on with it. If the file was replaced meanwhile, its download starts again. With --decrypt only authenticated
bytes are written. A damaged segment is fetched again once, then reported.

An existing file with the same bytes is kept, as after a repeated export. If its time differs, it is compared with the remote
file, which reads all of it. A file with other content is not touched.

The exit code is 0 only when every file is whole.

Examples:
  data-out download --all -o data
  data-out download 'EGAF0001*' 'study*.{bam,cram}.c4gh'
  data-out download --all --decrypt --key me.sec.pem --skip-existing`;

/** `download [names…]`. */
export function registerDownload(program: Command, context: CommandContext): void {
  const command = program
    .command('download')
    .description('download files of your outbox, all of them or by name')
    .argument('[names...]', 'names as data-out list shows them, or patterns in quotes')
    .option('-a, --all', 'every file')
    .option('-o, --output <folder>', 'where to; made if it is not there', '.')
    .option('--parallel <n>', 'files at once', '8')
    .option('--connections <n>', 'connections for each file', '4')
    .option('--decrypt', 'keep the plaintext instead of the Crypt4GH file, without .c4gh in the name');
  withKeyOptions(command)
    .option('--overwrite', 'replace files that are there')
    .option('--skip-existing', 'keep files that are there and have the right size')
    .option(
      '--no-sync',
      'do not wait for the disk: after a power cut a file may have its name but not all of its bytes',
    );
  withServiceOptions(command)
    .addHelpText('after', afterHelp)
    .action(async (names: string[], options: DownloadOptions, self: Command) => {
      const wanted = checked(names, options);
      await using session = await openSession(context, self);
      await download(session, names, wanted);
    });
}

interface Wanted {
  readonly folder: string;
  readonly parallel: number;
  readonly connections: number;
  readonly decrypt: boolean;
  readonly existing: Existing;
  readonly sync: boolean;
}

/** @throws UsageError */
function checked(names: readonly string[], options: DownloadOptions): Wanted {
  const { all, decrypt = false, overwrite, skipExisting } = options;
  if (names.length > 0 && all) throw usageError('--all', 'give names or --all, not both');
  if (names.length === 0 && !all) {
    throw usageError('names', 'say what to download', 'Give names, patterns in quotes, or --all.');
  }
  if (overwrite && skipExisting) throw usageError('--overwrite', 'give this or --skip-existing, not both');
  if (options.key && !decrypt) {
    throw usageError('--key', 'a key is used with --decrypt only', 'Give --decrypt, or run data-out decrypt later.');
  }
  return {
    folder: options.output,
    parallel: parseCount('--parallel', options.parallel, { from: 1, to: 64 }),
    connections: parseCount('--connections', options.connections, { from: 1, to: 32 }),
    decrypt,
    existing: overwrite ? 'overwrite' : skipExisting ? 'skip' : 'fail',
    sync: options.sync,
  };
}

async function download(session: Session, names: readonly string[], wanted: Wanted): Promise<void> {
  const { terminal, output, progress } = session;
  const { signal } = terminal;
  const started = terminal.now().getTime();
  const proxy = new ProxyApi(await session.service());
  // A wrong key or passphrase fails before the first download.
  const privateKeys = wanted.decrypt ? (await readPrivateKeys(session)).map(({ privateKey }) => privateKey) : [];
  try {
    const listed: ListedFile[] = [];
    for await (const file of proxy.list({ signal })) listed.push(file);
    const files = names.length === 0 ? listed : selectFiles(listed, names);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (files.length === 0) output.note('Your outbox is empty.');
    progress.expect(bytes, files.length);
    const reporter = new DownloadReporter(output, progress, files.length);
    await using workers = wanted.decrypt ? threadsFor(bytes, signal) : undefined;
    const { parallel, connections, existing, sync } = wanted;
    const { error } = await downloadFiles({
      proxy,
      files,
      folder: resolve(terminal.folder, wanted.folder),
      parallel,
      connections,
      existing,
      sync,
      decrypt: wanted.decrypt ? { privateKeys, ...(workers && { cipher: workers }) } : undefined,
      onEvent: reporter.onEvent,
      signal,
    });
    progress.end();
    reporter.summarize(terminal.now().getTime() - started);
    if (error?.code === 'interrupted') output.note('Downloaded bytes are kept: run the same command again to go on.');
    if (error) throw error;
  } finally {
    for (const key of privateKeys) key.fill(0);
  }
}
