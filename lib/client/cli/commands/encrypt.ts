import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { encrypt, encryptedBodySize, encryptFile } from '../../../crypt4gh/index.ts';
import { usageError } from '../../../terminal/errors.ts';
import { guardOutputs } from '../files/guard.ts';
import { type Input, openInput } from '../files/input.ts';
import {
  filesHelp,
  outputOf,
  readRecipients,
  reportWritten,
  withOutputOptions,
  withRecipients,
} from '../files/options.ts';
import { type Sink, writeOutput } from '../files/output-file.ts';
import { counted, sliced } from '../files/streams.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { readPrivateKey, wiping } from '../key-files.ts';
import { publicKeyForms, withKeyOptions } from '../options.ts';
import { type ByteRangeOption, checkWithin, rangeOption } from '../range.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const afterHelp = `${filesHelp}

With --key the readers can check who wrote the file, with data-out decrypt --sender. Without it the header is written with a
new key that is discarded at once. Keys of the environment and the configuration file are not used.

Examples:
  data-out encrypt -r alice.pub.pem sample.bam               (writes sample.bam.c4gh)
  data-out encrypt -r alice.pub.pem -r bob.pub.pem sample.bam
  samtools view -b in.bam | data-out encrypt -r alice.pub.pem - > out.bam.c4gh
  data-out encrypt -r alice.pub.pem --key me.sec.pem sample.bam
  data-out encrypt -r alice.pub.pem --range 0-65536 -o head.c4gh sample.bam`;

/** `encrypt [file]`. */
export function registerEncrypt(program: Command, context: CommandContext): void {
  const encrypt = program
    .command('encrypt')
    .description('encrypt a file for one or more readers (Crypt4GH)')
    .argument('[file]', 'what to encrypt', '-');
  withOutputOptions(
    withKeyOptions(
      withRecipients(encrypt, `a reader's public key: ${publicKeyForms}; repeatable`),
      'your private key, which proves the sender (default: a new one)',
    ),
    'file (default: the name with .c4gh; standard output for standard input)',
  )
    .addOption(rangeOption())
    .addHelpText('after', afterHelp)
    .action(async (file, options, command) => {
      await using session = await openSession(context, command);
      const { terminal } = session;
      const { key, range } = options;
      if ((key?.length ?? 0) > 1) throw usageError('--key', 'a file has one sender: give one key');
      const recipients = await readRecipients(options.recipient, terminal);
      await using input = await openInput(file, terminal);
      const name = options.output ?? (file === '-' ? '-' : `${file}.c4gh`);
      await guardOutputs(session, [name], [file, ...(options.recipient ?? []), options.passphraseFile]);
      // Only --key: a key in the settings must not reveal the writer by accident.
      const [keyFile] = key === undefined ? [] : session.settings.keyFiles;
      await writeOutput(outputOf(name, options, terminal), async (sink) => {
        const senderKey = keyFile === undefined ? undefined : await readPrivateKey(keyFile, session);
        using _wiped = wiping(senderKey);
        await encryptTo(sink, { session, input, range, recipients, senderKey });
      });
      reportWritten(session.output, { file, output: name, recipients: recipients.length });
    });
}

interface Part {
  /** Bytes; `undefined` for a pipe. */
  readonly size: number | undefined;
  stream(): AsyncIterable<Uint8Array>;
}

/** The bytes of the input in `range`. @throws UsageError when the range begins after the end */
function partOf(input: Input, range: ByteRangeOption | undefined): Part {
  if (range === undefined) return { size: input.size, stream: () => input.stream() };
  const { start, end } = range;
  if (input.size === undefined) return { size: undefined, stream: () => sliced(input.stream(), range) };
  checkWithin(range, input.size);
  const size = Math.min(end ?? input.size, input.size) - start;
  return { size, stream: () => sliced(input.stream(start), { start: 0, end: size }) };
}

async function encryptTo(
  sink: Sink,
  job: {
    readonly session: Session;
    readonly input: Input;
    readonly range: ByteRangeOption | undefined;
    readonly recipients: readonly Uint8Array[];
    readonly senderKey: Uint8Array | undefined;
  },
): Promise<void> {
  const { session, input, range, recipients, senderKey } = job;
  const { progress, terminal } = session;
  const part = partOf(input, range);
  await using workers = threadsFor(part.size, terminal.signal, input.isPipe);
  if (workers && input.handle && sink.handle && !range) {
    const { handle } = input;
    const target = sink.handle;
    const total = encryptedBodySize(input.size ?? 0);
    await whileGrowing(target, { progress, label: input.label, total }, () =>
      encryptFile(handle, target, { recipients, senderKey, workers }),
    );
    return;
  }
  using task = progress.task(input.label, part.size);
  const plaintext = counted(part.stream(), task.add);
  const how = { recipients, senderKey, ...(workers && { workers }), reuseMemory: true };
  await sink.write(encrypt(plaintext, how));
}
