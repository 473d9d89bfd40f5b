import { randomBytes } from 'node:crypto';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { counted, joined } from '../../../common/streams.ts';
import { addRecipients, reencryptHeader, splitContainer } from '../../../crypt4gh/index.ts';
import { filesHelp, withOutputOptions, withRecipients, writeForReaders } from '../files/options.ts';
import { readPrivateKeys } from '../key-files.ts';
import { withKeyOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const afterHelp = `${filesHelp}

The body is copied as it is, without decryption. Without --add you lose access yourself, unless you are one of
the recipients. Packets for others, which your key does not open, are kept.

Examples:
  data-out reencrypt --key me.sec.pem -r bob.pub.pem -o for-bob.c4gh sample.bam.c4gh
  data-out reencrypt --key me.sec.pem -r bob.pub.pem --add -o shared.c4gh sample.bam.c4gh`;

export function registerReencrypt(program: Command, context: CommandContext): void {
  const reencrypt = program
    .command('reencrypt')
    .description('give a Crypt4GH file to other readers: new header, same body')
    .argument('[file]', 'the container', '-');
  withOutputOptions(
    withKeyOptions(withRecipients(reencrypt, "a reader's public key; repeatable")),
    'file (default: standard output)',
  )
    .option('--add', 'keep the present readers, you included')
    .addHelpText('after', afterHelp)
    .action(async (file, options, command) => {
      await using session = await openSession(context, command);
      const name = options.output ?? '-';
      await writeForReaders(session, { ...options, file, name }, async (sink, input, recipients) => {
        using keys = await readPrivateKeys(session);
        using task = session.progress.task(input.label, input.size);
        const { header: old, body } = await splitContainer(counted(input.stream(), task.add));
        // Otherwise a silent writer would keep the process after an error.
        await using _ = { [Symbol.asyncDispose]: async () => void (await body.return?.()) };
        const about = { header: old, readerKeys: keys.raw, recipients };
        const header = options.add
          ? addRecipients(about)
          : reencryptHeader({ ...about, derivation: { random: randomBytes }, foreignPackets: 'keep' });
        await sink.write(joined(header, body));
      });
    });
}
