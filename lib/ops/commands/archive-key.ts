import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { generateKeyPair, PassphraseError, parsePrivateKey } from '../../crypt4gh/index.ts';
import { usageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { addArchiveKey, type ShownArchiveKey, showArchiveKeys } from '../archive-keys.ts';
import { readPassphrase } from '../password.ts';
import { type CommandContext, openSession } from '../session.ts';

interface AddOptions {
  readonly generate?: boolean;
  readonly passphraseFile?: string;
}

const addHelp = `
Examples:
  data-out-ops archive-key add --generate
  data-out-ops archive-key add archive.sec.pem --passphrase-file archive.passphrase`;

/** `archive-key add` and `archive-key show`: the archive's Crypt4GH key pairs. */
export function registerArchiveKey(program: Command, context: CommandContext): void {
  const archiveKey = program
    .command('archive-key')
    .description("the archive's Crypt4GH key pairs")
    .addHelpText('after', '\nExample:\n  data-out-ops archive-key show');

  archiveKey
    .command('add')
    .description('put a key before all others: new files are encrypted to it, older files stay readable')
    .argument('[file]', 'private key: Crypt4GH, or OpenSSH ed25519')
    .addOption(new Option('--generate', 'make a new key pair').conflicts('passphraseFile'))
    .option('--passphrase-file <file>', 'read the passphrase from a file (default: ask, or read standard input)')
    .addHelpText('after', addHelp)
    .action(async (file: string | undefined, options: AddOptions, command: Command) => {
      const session = openSession(context, command);
      if ((file === undefined) === (options.generate !== true)) {
        throw usageError('[file]', 'expected either a private key file or --generate');
      }
      const privateKey =
        file === undefined ? generateKeyPair().privateKey : await readKey(file, options, session.terminal);
      const { archiveKeys } = await session.target();
      const added = await addArchiveKey(archiveKeys, privateKey);
      session.output.result({ ...added }, describe(added));
      if (options.generate) session.output.note('note: the private key is in the secret alone; back it up from there');
    });

  archiveKey
    .command('show')
    .description('show the public keys, newest first')
    .addHelpText('after', '\nExample:\n  data-out-ops archive-key show')
    .action(async (_options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { archiveKeys } = await session.target();
      const keys = await showArchiveKeys(archiveKeys);
      for (const key of keys) session.output.result({ ...key }, describe(key));
      if (keys.length === 0) session.output.note('note: there is no key yet');
    });
}

async function readKey(file: string, { passphraseFile }: AddOptions, terminal: Terminal): Promise<Uint8Array> {
  const text = await readFile(resolve(terminal.folder, file));
  try {
    return await parsePrivateKey(text);
  } catch (error) {
    if (!(error instanceof PassphraseError)) throw error;
    return await parsePrivateKey(text, await readPassphrase(passphraseFile, terminal));
  }
}

function describe({ publicKey, fingerprint, newest }: ShownArchiveKey): string {
  return `${publicKey.trimEnd()}\nfingerprint ${fingerprint}${newest ? ', for new files' : ''}`;
}
