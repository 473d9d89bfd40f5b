import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Terminal } from '../terminal/terminal.ts';
import { abortable } from './archive/streams.ts';
import { usageError } from './errors.ts';

/** Where a new password comes from. Never from the command line: other users of the machine can read that. */
export interface PasswordOptions {
  readonly generate?: boolean;
  readonly passwordFile?: string;
}

/** Characters of a password: at least what slows down guessing, at most what is still a password. */
const shortest = 10;
const longest = 256;
/** Bytes of standard input that are looked at. */
const maxInputBytes = 4096;

/** Add the options of {@link newPassword} to a command. */
export function withPasswordOptions(command: Command): Command {
  return command
    .addOption(new Option('--generate', 'make a password and print it once').conflicts('passwordFile'))
    .option('--password-file <file>', 'read it from a file (default: ask, or read standard input)');
}

/** A user name that HTTP Basic can carry (RFC 7617 § 2). @throws InvalidRequestError */
export function checkUsername(name: string): string {
  if (!/^[^:\p{Cc}\p{Cs}]{1,128}$/u.test(name) || name.trim() !== name) {
    throw usageError('<name>', 'expected 1 to 128 characters, no colon, no control characters, no spaces around');
  }
  return name;
}

/**
 * The new password, from where the options say.
 * @throws InvalidRequestError when it is too short or too long, or typed differently the second time
 */
export async function newPassword(
  options: PasswordOptions,
  terminal: Terminal,
): Promise<{ readonly password: string; readonly generated: boolean }> {
  if (options.generate) return { password: randomBytes(24).toString('base64url'), generated: true };
  const password = await readSecret(options.passwordFile, 'password', terminal, { twice: true });
  const { length } = Array.from(password);
  if (length < shortest || length > longest || /\p{Cc}/u.test(password)) {
    throw usageError('password', `expected one line of ${shortest} to ${longest} characters`);
  }
  return { password, generated: false };
}

/** A secret from a file, from a person, or from standard input; without the line end that editors add. */
export async function readSecret(
  file: string | undefined,
  what: string,
  terminal: Terminal,
  { twice = false } = {},
): Promise<string> {
  if (file !== undefined) return withoutLineEnd(await readFile(resolve(terminal.folder, file), 'utf8'));
  if (!terminal.ask) return withoutLineEnd(await readAll(abortable(terminal.input, terminal.signal)));
  const typed = await terminal.ask(`${what}: `);
  if (twice && (await terminal.ask(`${what} again: `)) !== typed) {
    throw usageError(what, 'the two were not the same');
  }
  return typed;
}

async function readAll(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxInputBytes) throw usageError('standard input', `expected at most ${maxInputBytes} bytes`);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}
