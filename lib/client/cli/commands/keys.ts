import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import {
  formatPrivateKey,
  formatPublicKey,
  inspectPrivateKey,
  publicKeyFingerprint,
  publicKeyOf,
} from '../../../crypt4gh/index.ts';
import { usageError } from '../../../terminal/errors.ts';
import { warnOfCommit } from '../../../terminal/git-warning.ts';
import { printable } from '../../../terminal/output.ts';
import { askNewSecret } from '../../../terminal/prompts.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { writeOutput } from '../files/output-file.ts';
import { readPrivateKey, readPublicKey, wiping } from '../key-files.ts';
import { keyPairFiles, notEmpty, writeKeyPair } from '../key-pair.ts';
import { readSecretFile } from '../secrets.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const generateHelp = `
Writes <name>.sec.pem, which is yours alone, and <name>.pub.pem, which you give to others. Keep the passphrase apart from the
key, because you need both to open files that were encrypted for you.

Examples:
  data-out keys generate me
  data-out keys generate pipeline --passphrase-file pipeline.passphrase`;

const passwdHelp = `
Examples:
  data-out keys passwd me.sec.pem
  data-out keys passwd me.sec.pem --no-passphrase`;

const showHelp = `
Examples:
  data-out keys show me.pub.pem
  data-out keys show me.sec.pem > me.pub.pem`;

export function registerKeys(program: Command, context: CommandContext): void {
  const keys = program
    .command('keys')
    .description('make and manage your Crypt4GH keys')
    .addHelpText('after', '\nExample:\n  data-out keys generate me');

  keys
    .command('generate')
    .description('make a new pair of keys')
    .argument('<name>', 'first part of the names of the two files')
    .addOption(new Option('--passphrase-file <file>', 'the passphrase (default: ask)').conflicts('passphrase'))
    .option('--no-passphrase', 'leave the key unprotected: anyone who can read the file can use it')
    .option('--force', 'replace existing files')
    .addHelpText('after', generateHelp)
    .action(async (name, { passphrase, force }, command) => {
      await using session = await openSession(context, command);
      const { terminal, output, settings } = session;
      const files = keyPairFiles(name);
      const given = async () => (await settings.passphrase?.()) ?? (await askNewPassphrase(terminal, files.privateKey));
      const read = async () => (passphrase ? await given() : undefined);
      const fingerprint = await writeKeyPair({ ...files, terminal, force: force === true, passphrase: read });
      output.result(
        { ...files, fingerprint },
        `${files.privateKey}: your private key; keep it to yourself\n${files.publicKey}: your public key; give it to others`,
      );
      output.note(`fingerprint (SHA-256): ${fingerprint}`);
      await warnOfCommit(resolve(terminal.folder, files.privateKey), output);
    });

  keys
    .command('show')
    .description('print the public key in a key file, and its fingerprint')
    .argument('<file>', 'a public key, or your private one')
    .option('--passphrase-file <file>', 'passphrase of a private key (default: ask)')
    .addHelpText('after', showHelp)
    .action(async (file, _options, command) => {
      await using session = await openSession(context, command);
      const publicKey = await anyPublicKey(session, file);
      const fingerprint = publicKeyFingerprint(publicKey);
      const pem = formatPublicKey(publicKey);
      session.output.result({ file, publicKey: pem, fingerprint }, pem.trimEnd());
      session.output.note(`fingerprint (SHA-256): ${fingerprint}`);
    });

  keys
    .command('passwd')
    .description('change the passphrase of a private key')
    .argument('<file>', 'your private key')
    .option('--passphrase-file <file>', 'the present passphrase (default: ask)')
    .addOption(new Option('--new-passphrase-file <file>', 'the new passphrase (default: ask)').conflicts('passphrase'))
    .option('--no-passphrase', 'leave the key unprotected')
    .addHelpText('after', passwdHelp)
    .action(async (file, { passphrase, newPassphraseFile }, command) => {
      await using session = await openSession(context, command);
      const { terminal } = session;
      const path = resolve(terminal.folder, file);
      const bytes = await readFile(path).catch(() => Buffer.alloc(0));
      if (bytes.includes('BEGIN OPENSSH')) {
        throw usageError(printable(file), 'this is a key of OpenSSH', 'Use ssh-keygen -p -f FILE.');
      }
      const privateKey = await readPrivateKey(path, session);
      using _wiped = wiping(privateKey);
      const { comment } = inspectPrivateKey(bytes);
      const isKept = comment !== undefined && !comment.includes('\ufffd');
      await writeOutput({ name: file, terminal, force: true, mode: 0o600 }, async (sink) => {
        const given = () =>
          newPassphraseFile === undefined
            ? askNewPassphrase(terminal, file)
            : readSecretFile('--new-passphrase-file', resolve(terminal.folder, newPassphraseFile));
        const changed = await formatPrivateKey(privateKey, {
          ...(passphrase && { passphrase: notEmpty(await given()) }),
          ...(isKept && { comment }),
        });
        await sink.write([Buffer.from(changed)]);
      });
      if (comment !== undefined && !isKept) {
        const text = `the comment in ${printable(file)} is not UTF-8 and was left out: ${printable(comment)}`;
        session.output.warn(text);
      }
      session.output.result({ file, protected: passphrase }, `${printable(file)} has another passphrase`);
      await warnOfCommit(path, session.output);
    });
}

function askNewPassphrase(terminal: Terminal, file: string): Promise<string> {
  const remedy = 'Give it in a file, or make a key without one with --no-passphrase.';
  return askNewSecret(terminal, `New passphrase of ${printable(file)}`, remedy);
}

async function anyPublicKey(session: Session, file: string): Promise<Uint8Array> {
  const path = resolve(session.terminal.folder, file);
  const text = await readFile(path, 'latin1').catch(() => '');
  if (!/BEGIN [A-Z0-9 ]*PRIVATE KEY/.test(text)) return await readPublicKey('<file>', file, session.terminal);
  const privateKey = await readPrivateKey(path, session);
  using _wiped = wiping(privateKey);
  return publicKeyOf(privateKey);
}
