import type { Command } from 'commander';
import { plaintextName } from '../../client/download/disk/local-name.ts';
import { isReceiptName } from '../../contract/delivery.ts';
import { decrypt, decryptFile, openContainer } from '../../crypt4gh/index.ts';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { type ContainerInput, openContainerInput } from '../files/container.ts';
import { filesHelp, type OutputFileOptions, outputOf, reportWritten, withOutputOptions } from '../files/options.ts';
import { type Sink, writeOutput } from '../files/output-file.ts';
import { counted, sliced } from '../files/streams.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { readPrivateKeys, readPublicKey } from '../key-files.ts';
import { withKeyOptions } from '../options.ts';
import { type ByteRangeOption, checkWithin, rangeOption } from '../range.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface DecryptOptions extends OutputFileOptions {
  readonly range?: ByteRangeOption;
  readonly header?: string;
  readonly sender?: string;
}

const afterHelp = `${filesHelp}

A delivery receipt (NAME.delivery.jws) is skipped.

A damaged segment is reported. Nothing after it is written, and no file is left behind.

With --sender a file is refused unless its header was written with the private key that belongs to that public key, as
data-out encrypt --key writes it. This is no signature of the content: every reader of the file has its data key, and could
write another body that passes.

Examples:
  data-out decrypt --key me.sec.pem sample.bam.c4gh                (writes sample.bam)
  data-out decrypt --key me.sec.pem - < sample.bam.c4gh | samtools view -
  data-out decrypt --key me.sec.pem --sender alice.pub.pem sample.bam.c4gh
  data-out decrypt --key me.sec.pem --range 0-65536 -o head.bin sample.bam.c4gh
  data-out decrypt --key me.sec.pem --header sample.header -o sample.bam sample.body`;

/** `decrypt [file]`. */
export function registerDecrypt(program: Command, context: CommandContext): void {
  const command = program
    .command('decrypt')
    .description('decrypt a Crypt4GH file with your private key')
    .argument('[file]', 'what to decrypt', '-');
  withKeyOptions(command);
  withOutputOptions(command, 'where to (default: the name without .c4gh; standard output for standard input)')
    .addOption(rangeOption())
    .option(
      '--sender <file>',
      'public key of the expected sender; a file of another sender is refused (default: any sender)',
    )
    .option('--header <file>', 'the header, where the input is the body alone')
    .addHelpText('after', afterHelp)
    .action(async (file: string, options: DecryptOptions, self: Command) => {
      await using session = await openSession(context, self);
      const { terminal } = session;
      if (isReceiptName(file)) {
        session.output.note(
          `${printable(file)} is a delivery receipt, which is not encrypted: skipped. data-out verify reads it.`,
        );
        return;
      }
      const { range } = options;
      const sender =
        options.sender === undefined ? {} : { sender: await readPublicKey('--sender', options.sender, terminal) };
      const name = options.output ?? defaultName(file);
      await using container = await openContainerInput(file, options.header, terminal);
      // Only the owner can read the plaintext, as with download --decrypt.
      const output = { ...outputOf(name, options, terminal), mode: 0o600 };
      await writeOutput(output, async (sink) => {
        const keys = await readPrivateKeys(session);
        const privateKeys = keys.map(({ privateKey }) => privateKey);
        try {
          await decryptTo(sink, { session, container, range, opening: { privateKeys, ...sender } });
        } finally {
          for (const key of privateKeys) key.fill(0);
        }
      });
      reportWritten(session.output, { file, output: name });
    });
}

function defaultName(file: string): string {
  if (file === '-') return '-';
  const name = plaintextName(file);
  if (name !== file) return name;
  throw usageError('--output', 'say where to: the name of the input does not end in .c4gh');
}

interface Job {
  readonly session: Session;
  readonly container: ContainerInput;
  readonly range: ByteRangeOption | undefined;
  readonly opening: { readonly privateKeys: readonly Uint8Array[]; readonly sender?: Uint8Array };
}

async function decryptTo(sink: Sink, { session, container, range, opening }: Job): Promise<void> {
  const { progress, terminal } = session;
  const { input, header } = container;
  const source = range && (await container.source());
  if (source) {
    const reader = await openContainer(source, opening);
    if (reader.size !== undefined) checkWithin(range, reader.size);
    await sink.write(reader.stream(range.start, range.end));
    return;
  }
  await using workers = threadsFor(input.size, terminal.signal);
  if (workers && input.handle && sink.handle && !header && !range) {
    const { handle } = input;
    const target = sink.handle;
    await whileGrowing(target, { progress, label: input.label, total: input.size ?? 0 }, () =>
      decryptFile(handle, target, { ...opening, workers }),
    );
    return;
  }
  const task = progress.task(input.label, input.size);
  try {
    const plaintext = decrypt(counted(container.stream(), task.add), {
      ...opening,
      ...(workers && { workers }),
      reuseMemory: true,
    });
    await sink.write(range ? sliced(plaintext, range) : plaintext);
  } finally {
    task.end();
  }
}
