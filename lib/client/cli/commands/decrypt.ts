import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { isReceiptName } from '../../../contract/delivery.ts';
import { decrypt, decryptFile, openContainer } from '../../../crypt4gh/index.ts';
import { usageError } from '../../../terminal/errors.ts';
import { failureOf } from '../../../terminal/failure.ts';
import { printable } from '../../../terminal/output.ts';
import { isFolder, makeFolder } from '../../api/download/disk/local-disk.ts';
import { plaintextName } from '../../api/download/disk/local-name.ts';
import { ClientError } from '../../api/errors.ts';
import { clientFailure } from '../failure.ts';
import { type ContainerInput, openContainerInput } from '../files/container.ts';
import { guardOutputs } from '../files/guard.ts';
import { filesHelp, type OutputFileOptions, outputOf, reportWritten, withOutputOptions } from '../files/options.ts';
import { type Sink, writeOutput } from '../files/output-file.ts';
import { counted, sliced } from '../files/streams.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { type PrivateKeys, readPrivateKeys, readPublicKey } from '../key-files.ts';
import { withKeyOptions } from '../options.ts';
import { type ByteRangeOption, checkWithin, rangeOption } from '../range.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface DecryptOptions extends OutputFileOptions {
  readonly range?: ByteRangeOption | undefined;
  readonly header?: string;
  readonly sender?: string;
}

const afterHelp = `${filesHelp}

In a folder, every file that ends in .c4gh is decrypted, also in folders below it; symbolic links are skipped. For several
files, or a folder, --output names a folder, which is created if missing. If a file fails, the others are still decrypted: the
exit code is then 5, or the code of the failure if all failed alike. A delivery receipt (NAME.delivery.jws) is skipped.

A damaged segment is reported. Nothing after it is written, and no file is left behind.

With --sender a file is refused unless its header was written with the private key of that public key, as data-out encrypt --key
writes it. This does not sign the content: every reader of the file has its data key, and could write another body that passes.

Examples:
  data-out decrypt --key me.sec.pem sample.bam.c4gh                (writes sample.bam)
  data-out decrypt --key me.sec.pem -o open data                   (all of the folder data)
  data-out decrypt --key me.sec.pem - < sample.bam.c4gh | samtools view -
  data-out decrypt --key me.sec.pem --sender alice.pub.pem sample.bam.c4gh
  data-out decrypt --key me.sec.pem --range 0-65536 -o head.bin sample.bam.c4gh
  data-out decrypt --key me.sec.pem --header sample.header -o sample.bam sample.body`;

/** `decrypt [files…]`. */
export function registerDecrypt(program: Command, context: CommandContext): void {
  const decrypt = program
    .command('decrypt')
    .description('decrypt Crypt4GH files with your private key')
    .argument('[files...]', 'files, or folders with .c4gh files (default: standard input)');
  withOutputOptions(
    withKeyOptions(decrypt),
    'file, or folder for several (default: the names without .c4gh; standard output for standard input)',
  )
    .addOption(rangeOption())
    .option('--sender <file>', 'public key of the sender; refuse files of others (default: any sender)')
    .option('--header <file>', 'the header, if the input is a body alone')
    .addHelpText('after', afterHelp)
    .action(async (files, options, command) => {
      await using session = await openSession(context, command);
      const { files: found, isMany } = await filesToDecrypt(files, options, session);
      const wanted = found.filter(({ input }) => {
        const isReceipt = isReceiptName(input);
        const skipped = `${printable(input)} is a delivery receipt, which is not encrypted: skipped. data-out verify reads it.`;
        if (isReceipt) session.output.note(skipped);
        return !isReceipt;
      });
      const read = [...wanted.map(({ input }) => input), options.header, options.sender, options.passphraseFile];
      await guardOutputs(
        session,
        wanted.map(({ output }) => output),
        read,
      );
      if (isMany) await decryptMany(session, wanted, options);
      else for (const file of wanted) await decryptOne(session, file, options);
    });
}

interface FileToDecrypt {
  readonly input: string;
  readonly output: string;
}

/** @throws UsageError; ClientError `not_found` for a folder without containers */
async function filesToDecrypt(
  names: readonly string[],
  { output, range, header }: DecryptOptions,
  session: Session,
): Promise<{ readonly files: readonly FileToDecrypt[]; readonly isMany: boolean }> {
  const { folder } = session.terminal;
  const files: FileToDecrypt[] = [];
  let isMany = names.length > 1;
  for (const name of names.length === 0 ? ['-'] : names) {
    if (name !== '-' && (await isFolder(resolve(folder, name)))) {
      isMany = true;
      const inside = await containersBelow(name, session);
      if (inside.length === 0) throw new ClientError('not_found', `no file below ${printable(name)} ends in .c4gh`);
      for (const each of inside.sort()) {
        files.push({ input: join(name, each), output: join(output ?? name, plaintextName(each)) });
      }
    } else {
      const place = isMany && output !== undefined ? join(output, plaintextName(basename(name))) : output;
      files.push({ input: name, output: place ?? (isReceiptName(name) ? '' : defaultName(name)) });
    }
  }
  if (!isMany) return { files, isMany };
  for (const [option, value] of [
    ['--range', range],
    ['--header', header],
  ] as const) {
    if (value !== undefined) throw usageError(option, 'this is for a single file');
  }
  if (names.includes('-')) throw usageError('files', 'standard input is decrypted alone', 'Omit "-" or the others.');
  if (output === '-')
    throw usageError('--output', 'several files cannot be written to standard output', 'Name a folder.');
  const outputs = new Set<string>();
  for (const each of files) {
    const path = resolve(folder, each.output).toLowerCase();
    if (outputs.has(path)) throw usageError('files', `two of them would be written to ${printable(each.output)}`);
    outputs.add(path);
  }
  return { files, isMany };
}

/** Names of containers, relative to a folder. Links are not followed: they can lead outside the folder, or in a circle. */
async function containersBelow(name: string, { terminal, output }: Session): Promise<string[]> {
  const root = resolve(terminal.folder, name);
  const found: string[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const isNamed = /\.c4gh$/i.test(entry.name);
    if (entry.isFile() && isNamed) found.push(relative(root, path));
    if (entry.isSymbolicLink() && (isNamed || (await isFolder(path)))) {
      output.note(`${printable(join(name, relative(root, path)))} is a symbolic link: skipped`);
    }
  }
  return found;
}

/** Decrypts each file, whatever happens to the others. @throws the failure, if any file failed */
async function decryptMany(session: Session, files: readonly FileToDecrypt[], options: DecryptOptions): Promise<void> {
  const { terminal, output } = session;
  // A wrong key or passphrase fails before the first file, and is asked for once.
  using keys = await readPrivateKeys(session);
  const errors: { readonly error: unknown; readonly code: string; readonly message: string }[] = [];
  for (const file of files) {
    try {
      await makeFolder(dirname(resolve(terminal.folder, file.output)));
      await decryptOne(session, file, options, keys);
    } catch (error) {
      const { code, message } = failureOf(error, clientFailure);
      if (code === 'unexpected' || terminal.signal.aborted) throw error;
      output.warn(printable(`${file.input}: ${message}`));
      errors.push({ error, code, message });
    }
  }
  const [first] = errors;
  output.note(`${files.length - errors.length} of ${files.length} files decrypted`);
  if (first === undefined) return;
  if (errors.length === files.length && errors.every(({ code }) => code === first.code)) throw first.error;
  throw new ClientError('partial', `${errors.length} of ${files.length} files are not decrypted: ${first.message}`, {
    cause: first.error,
  });
}

async function decryptOne(
  session: Session,
  { input, output: name }: FileToDecrypt,
  options: DecryptOptions,
  known?: PrivateKeys,
): Promise<void> {
  const { terminal } = session;
  const { range } = options;
  const sender =
    options.sender === undefined ? {} : { sender: await readPublicKey('--sender', options.sender, terminal) };
  await using container = await openContainerInput(input, options.header, terminal);
  // Only the owner can read the plaintext, as with download --decrypt.
  const output = { ...outputOf(name, options, terminal), mode: 0o600 };
  await writeOutput(output, async (sink) => {
    using own = known ? undefined : await readPrivateKeys(session);
    const privateKeys = (known ?? own)?.raw ?? [];
    await decryptTo(sink, { session, container, range, opening: { privateKeys, ...sender } });
  });
  reportWritten(session.output, { file: input, output: name });
}

function defaultName(file: string): string {
  if (file === '-') return '-';
  const name = plaintextName(file);
  if (name !== file) return name;
  throw usageError('--output', 'name the output: the name of the input does not end in .c4gh');
}

interface Job {
  readonly session: Session;
  readonly container: ContainerInput;
  readonly range: ByteRangeOption | undefined;
  readonly opening: { readonly privateKeys: readonly Uint8Array[]; readonly sender?: Uint8Array };
}

async function decryptTo(sink: Sink, { session, container, range, opening }: Job): Promise<void> {
  const { progress, terminal } = session;
  const { input, header } = container;
  const source = range && (await container.source());
  if (source) {
    const reader = await openContainer(source, opening);
    if (reader.size !== undefined) checkWithin(range, reader.size);
    await sink.write(reader.stream(range.start, range.end));
    return;
  }
  await using workers = threadsFor(input.size, terminal.signal, input.isPipe);
  if (workers && input.handle && sink.handle && !header && !range) {
    const { handle } = input;
    const target = sink.handle;
    await whileGrowing(target, { progress, label: input.label, total: input.size ?? 0 }, () =>
      decryptFile(handle, target, { ...opening, workers }),
    );
    return;
  }
  using task = progress.task(input.label, input.size);
  const how = { ...opening, ...(workers && { workers }), reuseMemory: true };
  const plaintext = decrypt(counted(container.stream(), task.add), how);
  await sink.write(range ? sliced(plaintext, range) : plaintext);
}
