import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../../terminal/errors.ts';
import { parseCount, parseDuration, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const defaultTimeout = '24h';

const afterHelp = `
A file is NAME.part until it is complete. After Ctrl-C, a lost network, a full disk or a crash, the same command resumes it,
unless the archive has replaced the file, in which case its download restarts. The files stay encrypted until you run data-out
decrypt.

Delivery receipts are also downloaded into the folder. Each file is compared with the newest receipt that names it, and one that
differs is not kept. A file whose export is still in progress also differs, because the receipt comes last, so run the command
again once the receipt is listed. The last line says how many files are verified, and by which receipt.

An existing file that matches its receipt is kept. Any other existing file is not touched, unless you give --force. A file that no
receipt names is downloaded, but not verified; if it has the size and time of the remote file, an earlier run made it, and it
is kept.

With -o -, one file goes to standard output, in order. Its last byte comes once the file matches its receipt, so a container that
is interrupted or differs never looks whole to the next program.

With --original-paths, files get the paths that their submitters gave them, below the folder: sample.bam and sample.bam.bai lie
side by side. Characters that a file system might not accept become "_". If two files have one path, the id of each comes before
its name. A file without a receipt keeps its staged name.

With --wait, the command waits for a delivery receipt that the folder does not have yet, then downloads the files of that delivery,
or those that you name. With --dataset, the delivery is of that dataset.

The exit code is 0 only when every file is complete and verified. It is 10 if a file is not verified or differs from its receipt, a
receipt is not genuine, or the awaited delivery is not complete, and 11 if --timeout has passed.

Examples:
  data-out download --all -o data
  data-out download EGAF00000000001 '*-study*.{bam,cram}.c4gh'
  data-out download --dataset EGAD00000000001 -o data
  data-out download EGAF00000000001-x.bam.c4gh -o - | data-out decrypt --key me.sec.pem -o x.bam
  data-out download --wait --dataset EGAD00000000001 -o data`;

export function registerDownload(program: Command, context: CommandContext): void {
  const download = program
    .command('download')
    .description('download files of your outbox')
    .argument('[names...]', 'file ids, names as data-out list shows them, or patterns in quotes')
    .option('-a, --all', 'every file')
    .option('-o, --output <folder>', 'folder, created if missing; - writes one file to standard output', '.')
    .option('--parallel <n>', 'requests at once; each takes 8 MiB of memory', '8');
  withServiceOptions(
    download
      .option('--dataset <id>', 'only files of this dataset')
      .option('--original-paths', "save files under the submitters' paths")
      .option('--force', 'replace existing files that do not match their receipt')
      .option('--wait', 'wait for a new delivery, then download it')
      .option('--timeout <time>', `with --wait: longest wait, such as 90m or 2d (default: ${defaultTimeout})`),
  )
    .addHelpText('after', afterHelp)
    .action(async (names, options, command) => {
      const { all = false, dataset, force = false, originalPaths = false, output: folder, timeout, wait } = options;
      if (names.length > 0 && all) throw usageError('--all', 'give names or --all, not both');
      if (all && dataset !== undefined && !wait) throw usageError('--all', 'give this or --dataset, not both');
      if (names.length === 0 && !all && !wait && dataset === undefined) {
        throw usageError('names', 'say what to download', 'Give names, patterns in quotes, --dataset or --all.');
      }
      if (timeout !== undefined && !wait) throw usageError('--timeout', 'this needs --wait', 'Add --wait, or omit it.');
      const waitMs = wait ? parseDuration('--timeout', timeout ?? defaultTimeout) : undefined;
      const parallel = parseCount('--parallel', options.parallel, { from: 1, to: 64 });
      await using session = await openSession(context, command);
      const { downloadListed } = await import('../download/listed-download.ts');
      await downloadListed(session, { names, all, dataset, waitMs, folder, parallel, originalPaths, force });
    });
}
