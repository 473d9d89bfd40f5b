import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { counted } from '../../../common/streams.ts';
import { encrypt, encryptedBodySize, encryptFile } from '../../../crypt4gh/index.ts';
import { usageError } from '../../../terminal/errors.ts';
import { filesHelp, withOutputOptions, withRecipients, writeForReaders } from '../files/options.ts';
import { threadsFor, whileGrowing } from '../files/threads.ts';
import { readPrivateKey, wiping } from '../key-files.ts';
import { publicKeyForms, withKeyOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const afterHelp = `${filesHelp}

With --key the readers can check who wrote the file, with data-out decrypt --sender. Without it the header is written with a new
key that is then discarded. Keys of the environment and the configuration file are not used.

Examples:
  data-out encrypt -r alice.pub.pem sample.bam               (writes sample.bam.c4gh)
  data-out encrypt -r alice.pub.pem -r bob.pub.pem sample.bam
  samtools view -b in.bam | data-out encrypt -r alice.pub.pem - > out.bam.c4gh
  data-out encrypt -r alice.pub.pem --key me.sec.pem sample.bam`;

export function registerEncrypt(program: Command, context: CommandContext): void {
  const encrypting = program
    .command('encrypt')
    .description('encrypt a file for one or more readers (Crypt4GH)')
    .argument('[file]', 'what to encrypt', '-');
  withOutputOptions(
    withKeyOptions(
      withRecipients(encrypting, `a reader's public key: ${publicKeyForms}; repeatable`),
      'your private key, which proves the sender (default: a new one)',
    ),
    'file (default: the name with .c4gh; standard output for standard input)',
  )
    .addHelpText('after', afterHelp)
    .action(async (file, options, command) => {
      await using session = await openSession(context, command);
      const { progress, terminal } = session;
      const { key } = options;
      if ((key?.length ?? 0) > 1) throw usageError('--key', 'a file has one sender: give one key');
      // Only --key: a key in the settings must not reveal the writer by accident.
      const [keyFile] = key === undefined ? [] : session.settings.keyFiles;
      const name = options.output ?? (file === '-' ? '-' : `${file}.c4gh`);
      await writeForReaders(session, { ...options, file, name }, async (sink, input, recipients) => {
        const senderKey = keyFile === undefined ? undefined : await readPrivateKey(keyFile, session);
        using _wiped = wiping(senderKey);
        const { handle, label, isPipe, size } = input;
        const keys = { recipients, senderKey };
        await using workers = threadsFor(size, terminal.signal, isPipe);
        if (workers && handle && sink.handle) {
          const target = sink.handle;
          const work = () => encryptFile(handle, target, { ...keys, workers });
          return await whileGrowing(target, { progress, label, total: encryptedBodySize(size ?? 0) }, work);
        }
        using task = progress.task(label, size);
        const how = { ...keys, ...(workers && { workers }), reuseMemory: true };
        await sink.write(encrypt(counted(input.stream(), task.add), how));
      });
    });
}
