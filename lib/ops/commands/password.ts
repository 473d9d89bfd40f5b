import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Option } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { optionGroup } from '../../terminal/program.ts';
import { askNewSecret, askSecret } from '../../terminal/prompts.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { abortable } from '../archive/streams.ts';

/** Characters of a password. A shorter one can be guessed; a longer one is probably the wrong file. */
export const shortest = 10;
const longest = 256;

/** The options of {@link newPassword}. A password is never one: other users of the machine can read the command line. */
export const withPasswordOptions = optionGroup((command) =>
  command
    .addOption(new Option('--generate', 'make a password and print it once').conflicts('passwordFile'))
    .option('--password-file <file>', 'the password (default: ask, or read standard input)'),
);

/** A user name that HTTP Basic can carry (RFC 7617 § 2). @throws UsageError */
export function checkUsername(name: string): string {
  if (!/^[^:\p{Cc}\p{Cs}]{1,128}$/u.test(name) || name.trim() !== name) {
    throw usageError('<name>', 'expected 1 to 128 characters, no colon, no control characters, no spaces around');
  }
  return name;
}

/**
 * The new password, from where the options say.
 * @throws UsageError when it is too short or too long, or typed differently the second time
 */
export async function newPassword(
  options: { readonly generate?: boolean; readonly passwordFile?: string },
  terminal: Terminal,
): Promise<{ readonly password: string; readonly generated: boolean }> {
  if (options.generate) return { password: randomBytes(24).toString('base64url'), generated: true };
  const ask = () => askNewSecret(terminal, 'New password', 'Give it with --password-file FILE, or use --generate.');
  const password = await readSecret(options.passwordFile, terminal, ask);
  const { length } = Array.from(password);
  if (length < shortest || length > longest || /\p{Cc}/u.test(password)) {
    throw usageError('password', `expected one line of ${shortest} to ${longest} characters`);
  }
  return { password, generated: false };
}

const passphraseRemedy = 'Give it with --passphrase-file FILE.';

/** The passphrase of a key file, from another file, a person or standard input. */
export function readPassphrase(keyFile: string, file: string | undefined, terminal: Terminal): Promise<string> {
  return readSecret(file, terminal, () =>
    askSecret(terminal, `Passphrase of ${printable(keyFile)}: `, passphraseRemedy),
  );
}

/**
 * A passphrase for a new key file, from another file, a person, who types it twice, or standard input.
 * @throws UsageError when it is empty
 */
export async function newPassphrase(keyFile: string, file: string | undefined, terminal: Terminal): Promise<string> {
  const ask = () => askNewSecret(terminal, `New passphrase of ${printable(keyFile)}`, passphraseRemedy);
  const passphrase = await readSecret(file, terminal, ask);
  if (passphrase === '') throw usageError('passphrase', 'expected at least one character');
  return passphrase;
}

/** A secret from a file, by `ask`, or from standard input; without the line end that editors add. */
async function readSecret(file: string | undefined, terminal: Terminal, ask: () => Promise<string>): Promise<string> {
  if (file === undefined && terminal.ask) return await ask();
  const { folder, input, signal } = terminal;
  const given = file === undefined ? text(abortable(input, signal)) : readFile(resolve(folder, file), 'utf8');
  return (await given).replace(/\r?\n$/, '');
}
