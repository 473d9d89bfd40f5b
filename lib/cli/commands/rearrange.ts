import type { Command } from 'commander';
import {
  decryptedSize,
  editedSize,
  openContainer,
  openHeader,
  publicKeyOf,
  rearrange,
  splitContainer,
} from '../../crypt4gh/index.ts';
import { usageError } from '../../terminal/errors.ts';
import { type ContainerInput, openContainerInput } from '../files/container.ts';
import {
  filesHelp,
  type OutputFileOptions,
  outputOf,
  readRecipients,
  reportWritten,
  withOutputOptions,
  withRecipients,
} from '../files/options.ts';
import { type Sink, writeOutput } from '../files/output-file.ts';
import { counted, joined } from '../files/streams.ts';
import { readPrivateKeys } from '../key-files.ts';
import { withKeyOptions } from '../options.ts';
import { type ByteRangeOption, checkWithin, rangesOption } from '../range.ts';
import { type CommandContext, openSession } from '../session.ts';

interface RearrangeOptions extends OutputFileOptions {
  readonly range?: readonly ByteRangeOption[];
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
    .addOption(rangesOption());
  withRecipients(command, "a reader's public key (default: yours); may be given several times");
  withKeyOptions(command);
  withOutputOptions(command, 'where to (default: standard output)')
    .option('--header <file>', 'the header, where the input is the body alone')
    .addHelpText('after', afterHelp)
    .action(async (file: string, options: RearrangeOptions, self: Command) => {
      await using session = await openSession(context, self);
      const { terminal } = session;
      if (!options.range?.length) throw usageError('--range', 'say what to keep: --range 0-1000');
      const ranges = options.range;
      const named = await readRecipients(options.recipient ?? [], terminal);
      await using container = await openContainerInput(file, options.header, terminal);
      const name = options.output ?? '-';
      const output = outputOf(name, options, terminal);
      await writeOutput(output, async (sink) => {
        const keys = await readPrivateKeys(session);
        const privateKeys = keys.map(({ privateKey }) => privateKey);
        const recipients = named.length > 0 ? named : privateKeys.map(publicKeyOf);
        try {
          await rearrangeTo(sink, container, { privateKeys, ranges, recipients });
        } finally {
          for (const key of privateKeys) key.fill(0);
        }
      });
      reportWritten(session.output, { file, output: name });
    });
}

interface Job {
  readonly privateKeys: readonly Uint8Array[];
  readonly ranges: readonly ByteRangeOption[];
  readonly recipients: readonly Uint8Array[];
}

/** @throws UsageError for a range that begins after the end; of a pipe the end is known after the last byte */
async function rearrangeTo(sink: Sink, container: ContainerInput, job: Job): Promise<void> {
  const { privateKeys, ranges } = job;
  const source = await container.source();
  if (source) {
    const { size } = await openContainer(source, { privateKeys });
    for (const range of ranges) if (size !== undefined) checkWithin(range, size);
    await sink.write(rearrange(source, job));
    return;
  }
  const { header, body } = await splitContainer(container.stream());
  let bodyBytes = 0;
  let isAtEnd = false;
  const read = async function* () {
    yield* counted(body, (bytes) => {
      bodyBytes += bytes;
    });
    isAtEnd = true;
  };
  await sink.write(rearrange(joined(header, read()), job));
  if (!isAtEnd) return;
  const { dataKeys, editList } = openHeader(header, privateKeys);
  for (const key of dataKeys) key.fill(0);
  for (const range of ranges) checkWithin(range, editedSize(decryptedSize(bodyBytes), editList ?? []));
}
