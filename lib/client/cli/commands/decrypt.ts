import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { unverifiedClaims } from '../../../common/untrusted-json.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import { usageError } from '../../../terminal/errors.ts';
import { failureOf } from '../../../terminal/failure.ts';
import { printable } from '../../../terminal/output.ts';
import { isFolder, makeFolder } from '../../api/download/disk/local-disk.ts';
import { plaintextName } from '../../api/download/disk/local-name.ts';
import { ClientError } from '../../api/errors.ts';
import { receiptNames } from '../../api/receipts/receipt-files.ts';
import { type DecryptOptions, decryption, type FileToDecrypt, type Opened } from '../decrypt/decrypt-run.ts';
import { clientFailure } from '../failure.ts';
import { guardOutputs } from '../files/guard.ts';
import { filesHelp, withOutputOptions } from '../files/options.ts';
import { keySetOption } from '../folder-receipts.ts';
import { PrivateKeys, readPrivateKeys } from '../key-files.ts';
import { urlOption, withConnectionOptions, withKeyOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const afterHelp = `${filesHelp}

In a folder, every file that ends in .c4gh is decrypted, also in folders below it; symbolic links are skipped. For several
files, or a folder, --output names a folder, which is created if missing. Run the same command again after an interruption: a
plaintext that exists and is right is skipped. If a file fails, the others are still decrypted, and the exit code is 5, or the
code of the failure if all failed alike.

Each plaintext is compared with the delivery receipts (NAME.delivery.jws) beside the files, as data-out verify does. One that
differs is not kept. If no receipt names a file of a folder, it is decrypted anyway, and the exit code is 10.

With --delete, each container is removed once its plaintext is on the disk and has the SHA-256 of its receipt, so that the disk
needs room for only one more file.

A damaged segment is reported, and no file is left behind.

With --sender a file is refused unless its header was written with the private key of that public key, as data-out encrypt --key
writes it. This does not sign the content: every reader of the file has its data key, and could write another body that passes.

Examples:
  data-out decrypt --key me.sec.pem sample.bam.c4gh                (writes sample.bam)
  data-out decrypt --key me.sec.pem data -o open --delete          (all of the folder data)
  data-out decrypt --key me.sec.pem - < sample.bam.c4gh | samtools view -
  data-out decrypt --key me.sec.pem --sender alice.pub.pem sample.bam.c4gh`;

export function registerDecrypt(program: Command, context: CommandContext): void {
  const decrypt = program
    .command('decrypt')
    .description('decrypt Crypt4GH files with your private key')
    .argument('[files...]', 'files, or folders with .c4gh files (default: standard input)');
  withConnectionOptions(
    withOutputOptions(
      withKeyOptions(decrypt),
      'file, or folder for several (default: the names without .c4gh; standard output for standard input)',
    )
      .option('--delete', 'remove each container once its plaintext is verified')
      .option('--sender <file>', 'public key of the sender; refuse files of others (default: any sender)')
      .option(...keySetOption)
      .option(...urlOption),
  )
    .addHelpText('after', afterHelp)
    .action(async (names, options, command) => {
      await using session = await openSession(context, command);
      const { files, isMany } = await filesToDecrypt(names, options, session);
      const { sender, passphraseFile } = options;
      if (options.delete && files.some((file) => [file.input, file.output].includes('-'))) {
        throw usageError('--delete', 'this needs whole files as input and output');
      }
      const read = [...files.map(({ input }) => input), sender, passphraseFile];
      const written = files.map(({ output }) => output);
      await guardOutputs(session, written, read, options);
      using keys = new PrivateKeys();
      const readKeys = () => readPrivateKeys(session, keys);
      const decryptOne = decryption(session, options, readKeys, isMany);
      if (!isMany) {
        for (const file of files) await decryptOne(file);
        return;
      }
      // A wrong key or passphrase fails before the first file, and is asked for once.
      if (files.length > 0) await readKeys();
      await decryptMany(session, files, decryptOne);
    });
}

/** @throws UsageError; ClientError `not_found` for a folder without containers */
async function filesToDecrypt(
  names: readonly string[],
  { output, ...options }: DecryptOptions,
  session: Session,
): Promise<{ readonly files: readonly FileToDecrypt[]; readonly isMany: boolean }> {
  const { folder } = session.terminal;
  const files: FileToDecrypt[] = [];
  let isMany = names.length > 1;
  for (const name of names.length === 0 ? ['-'] : names) {
    if (name !== '-' && (await isFolder(resolve(folder, name)))) {
      isMany = true;
      const inside = await containersBelow(name, session);
      if (inside.length === 0) await explainEmpty(session, name, output ?? name, options);
      for (const path of inside.sort()) {
        const place = join(output ?? name, plaintextName(path));
        files.push({ input: join(name, path), output: place, root: name, path, isOfFolder: true });
      }
    } else if (isReceiptName(name)) {
      const what = `${printable(name)} is a delivery receipt, which is not encrypted`;
      session.output.note(`${what}: skipped. data-out verify reads it.`);
    } else {
      const place = isMany && output !== undefined ? join(output, plaintextName(basename(name))) : output;
      const about = { root: dirname(name), path: basename(name), isOfFolder: false };
      files.push({ input: name, output: place ?? defaultName(name), ...about });
    }
  }
  if (!isMany) return { files, isMany };
  if (names.includes('-')) throw usageError('files', 'standard input is decrypted alone', 'Omit "-" or the others.');
  if (output === '-') {
    throw usageError('--output', 'several files cannot be written to standard output', 'Name a folder.');
  }
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

/**
 * Receipts alone are what --delete leaves of a folder whose plaintexts are in the output folder. Only this message depends on the
 * receipts, so they are not verified.
 * @throws ClientError `not_found` for any other folder without containers
 */
async function explainEmpty(
  { terminal, output }: Session,
  name: string,
  target: string,
  options: Pick<DecryptOptions, 'delete'>,
): Promise<void> {
  const folder = resolve(terminal.folder, name);
  const opened = resolve(terminal.folder, target);
  const plaintexts = new Set(await readdir(opened).catch(() => []));
  const what = `no file below ${printable(name)} ends in .c4gh`;
  for (const receipt of options.delete ? await receiptNames(folder) : []) {
    const text = await readFile(join(folder, receipt), 'utf8').catch(() => '');
    const files: unknown = unverifiedClaims(text)?.files;
    const names = Array.isArray(files) ? files.map((file) => String(Object(file).name)) : [];
    if (!names.some((listed) => plaintexts.has(plaintextName(listed)))) continue;
    return output.note(`${what}: nothing is left to decrypt.`);
  }
  throw new ClientError('not_found', what);
}

/** Decrypts each file, whatever happens to the others. @throws the failure, if any file failed or is not verified */
async function decryptMany(
  { terminal, output }: Session,
  files: readonly FileToDecrypt[],
  decryptOne: (file: FileToDecrypt) => Promise<Opened>,
): Promise<void> {
  const opened: (Opened & FileToDecrypt)[] = [];
  const errors: { readonly error: unknown; readonly code: string; readonly message: string }[] = [];
  for (const file of files) {
    try {
      await makeFolder(dirname(resolve(terminal.folder, file.output)));
      opened.push({ ...file, ...(await decryptOne(file)) });
    } catch (error) {
      const { code, message } = failureOf(error, clientFailure);
      if (code === 'unexpected' || terminal.signal.aborted) throw error;
      output.warn(printable(message.includes(file.input) ? message : `${file.input}: ${message}`));
      errors.push({ error, code, message });
    }
  }
  const before = opened.filter(({ outcome }) => outcome === 'skipped').length;
  const verified = opened.filter((each) => each.verified !== undefined).length;
  const ofThem = `${before > 0 ? ` (${before} before)` : ''}, ${verified || 'none'} verified`;
  if (files.length > 0) output.note(`${opened.length} of ${files.length} files decrypted${ofThem}`);
  // A file that must not be relied on matters more than one that can still come.
  const first = errors.find(({ code }) => code === 'not_verified') ?? errors[0];
  if (first) {
    if (errors.length === files.length && errors.every(({ code }) => code === first.code)) throw first.error;
    const code = first.code === 'not_verified' ? 'not_verified' : 'partial';
    const what = `${errors.length} of ${files.length} files are not decrypted: ${first.message}`;
    throw new ClientError(code, what, { cause: first.error });
  }
  const doubtful = opened.filter((each) => each.isOfFolder && each.verified === undefined).length;
  if (doubtful === 0) return;
  throw new ClientError('not_verified', `${doubtful} of ${files.length} files are not verified`, {
    remedy: "data-out download '*.delivery.jws' -o FOLDER fetches the receipts of your outbox.",
  });
}

function defaultName(file: string): string {
  if (file === '-') return '-';
  const name = plaintextName(file);
  if (name !== file) return name;
  throw usageError('--output', 'name the output: the name of the input does not end in .c4gh');
}
