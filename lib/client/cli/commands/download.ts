import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../../terminal/errors.ts';
import type { AwaitedDelivery } from '../../api/delivery/await-delivery.ts';
import type { WantedDownload } from '../download/listed-download.ts';
import { runDownload } from '../download/run-download.ts';
import { existingOf, parseCount, parseDuration, parseTime, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const defaultTimeout = '24h';
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const afterHelp = `
A file is NAME.part until it is complete. After Ctrl-C, a lost network, a full disk or a crash, the same command resumes it,
unless the file was replaced: then its download restarts. The files stay encrypted: data-out decrypt opens them.

An existing file with the same bytes is kept, as after a repeated export. If its time differs, it is read and compared with the
remote file. A file with other content is not touched.

Delivery receipts are also downloaded into the folder. Each file is compared with the newest receipt that names it; one
that differs is not kept, and the exit code is 10. A file whose export is still in progress also differs, because the receipt
comes last: run the command again once the receipt is listed. --require-receipt refuses files that no receipt names. The last line says how many
files are verified, and by which receipt.

With -o -, one file goes to standard output, in order. Its last byte comes once the file matches its receipt, so a container that
is interrupted or differs never looks whole to the next program.

With --original-paths, files get the paths that their submitters gave them, below the folder: sample.bam and sample.bam.bai lie
side by side. Characters that a file system might not accept become "_". A file without a receipt keeps its staged name.

With --wait, the command waits for the delivery receipt of an export, then downloads its files, or those that you name. Give
--request ID, or --dataset D --since TIME: an export of the dataset that was requested since then. With --request, --since means
a receipt signed since then, as after a repeated delivery.

The exit code is 0 only when every file is complete. It is 10 if a file differs from its receipt, a receipt is not genuine, or
the awaited delivery is not complete, and 11 if --timeout has passed.

Examples:
  data-out download --all -o data
  data-out download 'EGAF0001*' '*-study*.{bam,cram}.c4gh'
  data-out download --all -o data --skip-existing
  data-out download EGAF00000000001-x.bam.c4gh -o - | data-out decrypt --key me.sec.pem -o x.bam
  data-out download --wait --request 0b5c0f4e-8a53-4d0e-9a44-0d5f3c1e7a10 -o data
  data-out download --wait --dataset EGAD00000000001 --since 2026-11-22T09:00:00Z -o data`;

/** `download [names…]`. */
export function registerDownload(program: Command, context: CommandContext): void {
  const download = program
    .command('download')
    .description('download files of your outbox')
    .argument('[names...]', 'names as data-out list shows them, or patterns in quotes')
    .option('-a, --all', 'every file')
    .option('-o, --output <folder>', 'folder, created if missing; - writes one file to standard output', '.')
    .option('--parallel <n>', 'files at once', '8')
    .option('--connections <n>', 'connections per file', '4');
  withServiceOptions(
    download
      .option('--original-paths', "save files under the submitters' paths")
      .option('--require-receipt', 'refuse files without a delivery receipt')
      .option('--force', 'replace existing files')
      .option('--skip-existing', 'keep existing files of the right size')
      .option('--no-sync', 'faster, but a power cut can lose bytes')
      .option('--wait', 'wait for an export, then download it')
      .option('--request <id>', 'with --wait: request id of the export')
      .option('--dataset <id>', 'with --wait: an export of this dataset')
      .option('--since <time>', 'with --wait: requested since then, such as 2026-11-22 (midnight UTC)')
      .option('--timeout <time>', `with --wait: longest wait, such as 90m or 2d (default: ${defaultTimeout})`),
  )
    .addHelpText('after', afterHelp)
    .action(async (names, options, command) => {
      const { all = false, force, skipExisting, output: folder, sync } = options;
      const wait = checkedWait(options);
      if (names.length > 0 && all) throw usageError('--all', 'give names or --all, not both');
      if (names.length === 0 && !all && !wait) {
        throw usageError('names', 'say what to download', 'Give names, patterns in quotes, or --all.');
      }
      const existing = existingOf({ force, skipExisting });
      const parallel = parseCount('--parallel', options.parallel, { from: 1, to: 64 });
      const connections = parseCount('--connections', options.connections, { from: 1, to: 32 });
      const { requireReceipt = false, originalPaths = false } = options;
      const wanted = { names, all, wait, folder, parallel, connections, existing, sync };
      await using session = await openSession(context, command);
      await runDownload(session, { ...wanted, requireReceipt, originalPaths });
    });
}

/** The options that go with `--wait`. */
type WaitOptions = { readonly [Name in 'request' | 'dataset' | 'since' | 'timeout']?: string };

function checkedWait(options: WaitOptions & { readonly wait?: boolean }): WantedDownload['wait'] {
  if (options.wait) {
    const timeoutMs = parseDuration('--timeout', options.timeout ?? defaultTimeout);
    return { delivery: awaitedDelivery(options), timeoutMs };
  }
  for (const name of ['request', 'dataset', 'since', 'timeout'] as const) {
    if (options[name] !== undefined) throw usageError(`--${name}`, 'this needs --wait', 'Add --wait, or omit it.');
  }
  return undefined;
}

function awaitedDelivery({ request, dataset, since: text }: WaitOptions): AwaitedDelivery {
  const since = text === undefined ? undefined : parseTime('--since', text);
  if (request !== undefined && dataset !== undefined) throw usageError('--request', 'give this or --dataset, not both');
  if (request !== undefined) {
    if (!uuid.test(request)) throw usageError('--request', 'expected a request id, which is a UUID', whoKnows);
    return { requestId: request.toLowerCase(), since };
  }
  if (dataset !== undefined && since !== undefined) return { dataset, since };
  if (dataset !== undefined) {
    throw usageError(
      '--since',
      'give the earliest time at which the export was requested',
      'Give a time, as 2026-11-22T09:00:00Z.',
    );
  }
  throw usageError('--wait', 'say what to wait for', `Give --request ID, or --dataset ID --since TIME. ${whoKnows}`);
}

const whoKnows = 'The administrator who requested the export knows its id.';
