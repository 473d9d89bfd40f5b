import { usageError } from '../../../terminal/errors.ts';
import type { Output } from '../../../terminal/output.ts';
import { printable } from '../../../terminal/output.ts';
import { optionGroup } from '../../../terminal/program.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { readPublicKey } from '../key-files.ts';
import { collect } from '../options.ts';
import type { Session } from '../session.ts';
import { guardOutputs } from './guard.ts';
import { type Input, openInput } from './input.ts';
import { type OutputOptions, type Sink, writeOutput } from './output-file.ts';

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

/**
 * Reads one file and writes another for the readers that `--recipient` names.
 * @param file a path, or `-` for standard input
 * @param name of the output
 * @throws UsageError without a reader, or for an output that must not be replaced; errors of `work`
 */
export async function writeForReaders(
  session: Session,
  options: OutputFileOptions & { file: string; name: string; recipient?: readonly string[]; passphraseFile?: string },
  work: (sink: Sink, input: Input, recipients: readonly Uint8Array[]) => Promise<void>,
): Promise<void> {
  const { terminal, output } = session;
  const { file, name, recipient: files = [], passphraseFile } = options;
  const remedy = 'Name the public key of each reader with --recipient.';
  if (files.length === 0) throw usageError('--recipient', 'no reader is given', remedy);
  const recipients = await Promise.all(files.map((each) => readPublicKey('--recipient', each, terminal)));
  await using input = await openInput(file, terminal);
  await guardOutputs(session, [name], [file, ...files, passphraseFile], options);
  await writeOutput(outputOf(name, options, terminal), (sink) => work(sink, input, recipients));
  reportWritten(output, { file, output: name, recipients: recipients.length });
}

/** Reports the written file: it is the result, so only --json has a record. @param doubt why it is not verified */
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
