import { usageError } from '../../../terminal/errors.ts';
import type { Output } from '../../../terminal/output.ts';
import { printable } from '../../../terminal/output.ts';
import { optionGroup } from '../../../terminal/program.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { readPublicKey } from '../key-files.ts';
import { collect } from '../options.ts';
import type { OutputOptions } from './output-file.ts';

/** Options of commands that write one file. */
export interface OutputFileOptions {
  readonly output?: string;
  readonly force?: boolean;
}

export const withOutputOptions = optionGroup((command, text: string) =>
  command.option('-o, --output <file>', text).option('--force', 'replace an existing output file'),
);

/** Where the output called `name` goes. `--output -` allows a terminal. */
export function outputOf(name: string, { output, force }: OutputFileOptions, terminal: Terminal): OutputOptions {
  return { name, terminal, force: force === true, toTerminal: output === '-' };
}

/** The option of commands that write for other readers. */
export const withRecipients = optionGroup((command, text: string) =>
  command.option('-r, --recipient <file>', text, collect),
);

/** The public keys that `--recipient` names. @throws UsageError when there is none */
export async function readRecipients(files: readonly string[] | undefined, terminal: Terminal) {
  if (!files?.length)
    throw usageError('--recipient', 'no reader is given', 'Name the public key of each reader with --recipient.');
  return await Promise.all(files.map((file) => readPublicKey('--recipient', file, terminal)));
}

/**
 * Reports the written file. Only with --json is there a record on standard output: the file itself is
 * the result. @param doubt why it is not verified
 */
export function reportWritten(
  output: Output,
  record: { readonly output: string } & Record<string, unknown>,
  doubt?: string,
): void {
  if (record.output === '-') return;
  if (output.json) output.result(record, '');
  else output.note(printable(`wrote ${record.output}${doubt === undefined ? '' : ` (not verified: ${doubt})`}`));
}

/** Help on input and output, for every command on files. */
export const filesHelp = `
The input is a file, or - for standard input. A file gets its name when it is complete. An existing file is not replaced
without --force.`;
