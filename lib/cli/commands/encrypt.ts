import type { Command } from 'commander';
import { encrypt, encryptedBodySize, encryptFile } from '../../crypt4gh/index.ts';
import { type Input, openInput } from '../files/input.ts';
import {
  filesHelp,
  type OutputFileOptions,
  outputOf,
  readSomeRecipients,
  reportWritten,
  withOutputOptions,
  withRecipients,
} from '../files/options.ts';
import { type OutputOptions, type Sink, writeOutput } from '../files/output-file.ts';
import { counted } from '../files/streams.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface EncryptOptions extends OutputFileOptions {
  readonly recipient?: readonly string[];
  readonly header?: string;
}

const afterHelp = `${filesHelp}

Examples:
  data-out encrypt -r alice.pub.pem sample.bam               (writes sample.bam.c4gh)
  data-out encrypt -r alice.pub.pem -r bob.pub.pem sample.bam
  samtools view -b in.bam | data-out encrypt -r alice.pub.pem - > out.bam.c4gh
  data-out encrypt -r alice.pub.pem --header sample.header -o sample.body sample.bam`;

/** `encrypt [file]`. */
export function registerEncrypt(program: Command, context: CommandContext): void {
  const command = program
    .command('encrypt')
    .description('encrypt a file for one or more readers (Crypt4GH)')
    .argument('[file]', 'what to encrypt', '-');
  withRecipients(command, "a reader's public key: Crypt4GH or OpenSSH ed25519; may be given several times");
  withOutputOptions(command, 'where to (default: the name with .c4gh; standard output for standard input)')
    .option('--header <file>', 'write the header there, and the body alone to the output')
    .addHelpText('after', afterHelp)
    .action(async (file: string, options: EncryptOptions, self: Command) => {
      await using session = await openSession(context, self);
      const { terminal } = session;
      const recipients = await readSomeRecipients(options.recipient, terminal);
      await using input = await openInput(file, terminal);
      const name = options.output ?? (file === '-' ? '-' : `${file}.c4gh`);
      const output = outputOf(name, options, terminal);
      await writeOutput(output, (sink) =>
        encryptTo(sink, { session, input, recipients, headerOutput: headerOf(output, options) }),
      );
      reportWritten(session.output, { file, output: name, recipients: recipients.length });
    });
}

function headerOf(output: OutputOptions, { header }: EncryptOptions): OutputOptions | undefined {
  return header === undefined ? undefined : { ...output, name: header, toTerminal: false };
}

async function encryptTo(
  sink: Sink,
  job: {
    readonly session: Session;
    readonly input: Input;
    readonly recipients: readonly Uint8Array[];
    readonly headerOutput: OutputOptions | undefined;
  },
): Promise<void> {
  const { session, input, recipients, headerOutput } = job;
  const { progress, terminal } = session;
  await using workers = threadsFor(input.size, terminal.signal);
  if (workers && input.handle && sink.handle && !headerOutput) {
    const { handle } = input;
    const target = sink.handle;
    const total = encryptedBodySize(input.size ?? 0);
    await whileGrowing(target, { progress, label: input.label, total }, () =>
      encryptFile(handle, target, { recipients, workers }),
    );
    return;
  }
  const task = progress.task(input.label, input.size);
  try {
    const container = encrypt(counted(input.stream(), task.add), { recipients, ...(workers && { workers }) });
    if (headerOutput === undefined) {
      await sink.write(container);
      return;
    }
    const { value: header } = await container.next();
    await writeOutput(headerOutput, async (headerSink) => {
      await headerSink.write(header ? [header] : []);
      // The header gets its name when the body is written, too: neither is of use without the other.
      await sink.write(container);
    });
  } finally {
    task.end();
  }
}
