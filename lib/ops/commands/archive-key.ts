import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import {
  Crypt4ghError,
  formatPrivateKey,
  generateKeyPair,
  PassphraseError,
  parsePrivateKey,
  publicKeyFingerprint,
  publicKeyOf,
} from '../../crypt4gh/index.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import { usageError } from '../../terminal/errors.ts';
import { counted, printable } from '../../terminal/output.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { checkEscrow } from '../archive/check-escrow.ts';
import { reencryptHeaders } from '../archive/reencrypt-headers.ts';
import { OpsError } from '../errors.ts';
import {
  addArchiveKey,
  readArchiveKey,
  readArchiveKeys,
  removeArchiveKey,
  type ShownArchiveKey,
  showArchiveKeys,
} from '../secrets/archive-keys.ts';
import { writeSecretFile } from '../secrets/document.ts';
import { newPassphrase, readPassphrase } from './password.ts';
import { examples, expectConsent, type Open } from './session.ts';

const checkHelp = `
Opens the header of every file with these copies, without the archive's own secret, to prove that the copies alone could restore
the archive.

Examples:
  data-out-ops archive-key check archive.sec.pem
  data-out-ops archive-key check archive.sec.pem older.sec.pem`;

const removeHelp = `
A key is removed only when no file needs it. Keep its copies while backups of the database exist from before archive-key
reencrypt.

Example:
  data-out-ops archive-key remove 31f9d4d63522f42389481ee8ccb4f27c60fca9c88663a6bccf97cc7a02a5b905`;

/** `archive-key add|show|save|check|reencrypt|remove`: the archive's Crypt4GH key pairs. */
export function registerArchiveKey(program: Command, open: Open): void {
  const archiveKey = program.command('archive-key').description("the archive's Crypt4GH key pairs");

  archiveKey
    .command('add')
    .description('make a key the newest: new files are encrypted to it, older files stay readable')
    .argument('[file]', 'private key: Crypt4GH, or OpenSSH ed25519')
    .addOption(new Option('--generate', 'make a new key pair').conflicts('passphraseFile'))
    .option('--passphrase-file <file>', 'the passphrase (default: ask, or read standard input)')
    .addHelpText(
      'after',
      examples('archive-key add --generate', 'archive-key add archive.sec.pem --passphrase-file archive.passphrase'),
    )
    .action(async (file, { generate, passphraseFile }, command) => {
      const { target, output, terminal } = open(command);
      if ((file === undefined) === (generate !== true)) {
        throw usageError('[file]', 'expected either a private key file or --generate');
      }
      const { archiveKeys } = await target();
      const privateKey =
        file === undefined ? generateKeyPair().privateKey : await readKey(file, passphraseFile, terminal);
      const added = await addArchiveKey(archiveKeys, privateKey);
      output.result({ ...added }, describe(added));
      if (generate) {
        output.note('note: the private key is in the secret alone: data-out-ops archive-key save makes a copy');
      }
    });

  archiveKey
    .command('show')
    .description('show the public keys, newest first')
    .addHelpText('after', examples('archive-key show'))
    .action(async (_options, command) => {
      const { target, output } = open(command);
      const keys = await showArchiveKeys((await target()).archiveKeys);
      for (const key of keys) output.result({ ...key }, describe(key));
      if (keys.length === 0) output.note('note: there is no key yet');
    });

  archiveKey
    .command('save')
    .description('save a copy of a private key, under a passphrase')
    .argument('<file>', 'new file; it is never replaced')
    .option('--key <fingerprint>', 'another key than the newest')
    .option('--passphrase-file <file>', 'the new passphrase (default: ask, or read standard input)')
    .addHelpText('after', examples('archive-key save archive.sec.pem'))
    .action(async (file, { key, passphraseFile }, command) => {
      const { target, output, terminal } = open(command);
      const { privateKey, publicKey } = await readArchiveKey((await target()).archiveKeys, key);
      const passphrase = await newPassphrase(file, passphraseFile, terminal);
      await writeSecretFile(file, await formatPrivateKey(privateKey, { passphrase }), { terminal, output });
      const fingerprint = publicKeyFingerprint(publicKey);
      output.result({ file, fingerprint }, `${printable(file)}: key ${fingerprint}, under your passphrase`);
    });

  archiveKey
    .command('check')
    .description('test whether copies of the keys open every header')
    .argument('<file...>', 'copies of private keys')
    .option('--passphrase-file <file>', 'passphrase of all copies (default: ask for each)')
    .addHelpText('after', checkHelp)
    .action(async (files, { passphraseFile }, command) => {
      const { target, output, terminal } = open(command);
      const { archiveHeaders } = await target();
      const keys: ArchiveKey[] = [];
      for (const file of files) {
        const privateKey = await readKey(file, passphraseFile, terminal);
        keys.push({ privateKey, publicKey: publicKeyOf(privateKey) });
      }
      const { opened, files: all, lost, unopened } = await checkEscrow(archiveHeaders, keys, terminal.signal);
      for (const [fingerprint, count] of opened) {
        output.result({ fingerprint, opens: count, files: all }, `${fingerprint} opens ${count} of ${filesOf(all)}`);
      }
      if (lost === 0) return;
      const named = `${unopened.map(printable).join(', ')}${lost > unopened.length ? ', …' : ''}`;
      throw new OpsError('verification_failed', `no copy opens ${filesOf(lost)}: ${named}`);
    });

  archiveKey
    .command('reencrypt')
    .description('re-encrypt all headers to the newest key; bodies are unchanged')
    .addHelpText('after', examples('archive-key reencrypt'))
    .action(async (_options, command) => {
      const { target, output, terminal } = open(command);
      const { archiveKeys, archiveHeaders } = await target();
      const keys = await readArchiveKeys(archiveKeys);
      const headers = await reencryptHeaders(archiveHeaders, keys, {
        signal: terminal.signal,
        onProgress: (done) => output.note(`note: ${filesOf(done)} so far`),
        onDamaged: (error) => output.warn(printable(error.message)),
      });
      output.result({ headers }, `${filesOf(headers)} re-encrypted; all are for the newest key`);
    });

  archiveKey
    .command('remove')
    .description('remove an older key that no file needs')
    .argument('<fingerprint>', 'as archive-key show prints it')
    .option('--yes', 'do not ask')
    .addHelpText('after', removeHelp)
    .action(async (fingerprint, { yes }, command) => {
      const { target, output, terminal } = open(command);
      const { archiveKeys, archiveHeaders } = await target();
      await readArchiveKey(archiveKeys, fingerprint);
      const kept = (await showArchiveKeys(archiveKeys)).filter((key) => key.fingerprint !== fingerprint);
      const known = new Set(kept.flatMap((key) => [key.keyHash, key.fingerprint]));
      // Headers for this key, or for one that the secret does not have.
      const needing = (await archiveHeaders.keyUses()).filter(({ keyHash }) => !known.has(keyHash ?? ''));
      const files = needing.reduce((sum, use) => sum + use.files, 0);
      if (files > 0) {
        const why = `${filesOf(files)} might need this key: run data-out-ops archive-key reencrypt first`;
        throw new OpsError('conflict', why);
      }
      const word = fingerprint.slice(0, 8);
      const question = { todo: `remove the key ${fingerprint}`, word, otherwise: 'nothing was removed' };
      await expectConsent(terminal, question, yes);
      await removeArchiveKey(archiveKeys, fingerprint);
      output.result({ fingerprint }, `${fingerprint} is removed`);
      output.note('note: keep its copies while backups of the database exist from before archive-key reencrypt');
    });
}

const filesOf = (count: number) => counted(count, 'file');

async function readKey(file: string, passphraseFile: string | undefined, terminal: Terminal): Promise<Uint8Array> {
  const text = await readFile(resolve(terminal.folder, file));
  try {
    return await parsePrivateKey(text).catch(async (error) => {
      if (!(error instanceof PassphraseError)) throw error;
      return await parsePrivateKey(text, await readPassphrase(file, passphraseFile, terminal));
    });
  } catch (error) {
    if (error instanceof Crypt4ghError) error.message = `${printable(file)}: ${error.message}`;
    throw error;
  }
}

function describe({ publicKey, fingerprint, newest }: ShownArchiveKey): string {
  return `${publicKey.trimEnd()}\nfingerprint ${fingerprint}${newest ? ', for new files' : ''}`;
}
