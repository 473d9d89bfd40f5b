import type { Command } from 'commander';
import { publicKeyOf, rearrange } from '../../crypt4gh/index.ts';
import { usageError } from '../../terminal/errors.ts';
import { openContainerInput } from '../files/container.ts';
import {
  filesHelp,
  type OutputFileOptions,
  outputOf,
  readRecipients,
  reportWritten,
  withOutputOptions,
  withRecipients,
} from '../files/options.ts';
import { writeOutput } from '../files/output-file.ts';
import { readPrivateKeys } from '../key-files.ts';
import { collect, parseRange, withKeyOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

interface RearrangeOptions extends OutputFileOptions {
  readonly range?: readonly string[];
  readonly recipient?: readonly string[];
  readonly header?: string;
}

const afterHelp = `${filesHelp}

The segments are copied as they are; an edit list in the new header makes the ranges exact. The new readers get the data
keys of the old file. A reader who also has the old body can read all of it.

Examples:
  data-out rearrange --key me.sec.pem --range 0-1000 -o head.c4gh sample.bam.c4gh
  data-out rearrange --key me.sec.pem --range 0-1000 --range 70000-80000 -r bob.pub.pem -o parts.c4gh sample.bam.c4gh`;

/** `rearrange [file]`. */
export function registerRearrange(program: Command, context: CommandContext): void {
  const command = program
    .command('rearrange')
    .description('make a smaller Crypt4GH file from ranges of a file, without decrypting its body')
    .argument('[file]', 'the container', '-')
    .option('--range <a-b>', 'bytes a to b of the plaintext, b not among them; may be given several times', collect);
  withRecipients(command, "a reader's public key (default: yours); may be given several times");
  withKeyOptions(command);
  withOutputOptions(command, 'where to (default: standard output)')
    .option('--header <file>', 'the header, where the input is the body alone')
    .addHelpText('after', afterHelp)
    .action(async (file: string, options: RearrangeOptions, self: Command) => {
      await using session = await openSession(context, self);
      const { terminal } = session;
      if (!options.range?.length) throw usageError('--range', 'say what to keep: --range 0-1000');
      const ranges = options.range.map((text) => parseRange('--range', text));
      const named = await readRecipients(options.recipient ?? [], terminal);
      await using container = await openContainerInput(file, options.header, terminal);
      const name = options.output ?? '-';
      const output = outputOf(name, options, terminal);
      await writeOutput(output, async (sink) => {
        const keys = await readPrivateKeys(session);
        const privateKeys = keys.map(({ privateKey }) => privateKey);
        const recipients = named.length > 0 ? named : privateKeys.map(publicKeyOf);
        try {
          const source = (await container.source()) ?? container.stream();
          await sink.write(rearrange(source, { privateKeys, ranges, recipients }));
        } finally {
          for (const key of privateKeys) key.fill(0);
        }
      });
      reportWritten(session.output, { file, output: name });
    });
}
