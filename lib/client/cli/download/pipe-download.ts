import { counted } from '../../../common/streams.ts';
import { usageError } from '../../../terminal/errors.ts';
import { formatBytes, printable } from '../../../terminal/output.ts';
import type { DeliveryApi, ListedFile } from '../../api/delivery-api.ts';
import type { Verified } from '../../api/download/check-file.ts';
import { StagedFile } from '../../api/download/staged-file.ts';
import { streamFile } from '../../api/download/stream-file.ts';
import type { Claims } from '../../api/receipts/claims.ts';
import { writeOutput } from '../files/output-file.ts';
import type { Session } from '../session.ts';
import { summaryText, unverifiedError } from './delivery-summary.ts';

/** Writes one file to standard output, as `streamFile` does. @throws ClientError unless all of it was taken and verified; UsageError */
export async function pipeDownload(
  session: Session,
  proxy: DeliveryApi,
  files: readonly ListedFile[],
  { parallel, claims }: { readonly parallel: number; readonly claims: Claims },
): Promise<void> {
  const { terminal, output, progress } = session;
  const [file, ...others] = files;
  if (file === undefined || others.length > 0) {
    throw usageError('--output', `standard output takes one file, not ${files.length}`, 'Name one file, or a folder.');
  }
  const { name, size } = file;
  let verified: Verified | undefined;
  using task = progress.task(printable(name), size);
  const bytes = streamFile(new StagedFile(proxy, { name, size }), {
    parallel,
    expected: claims.of(name),
    signal: terminal.signal,
    retrying: ({ message }) => output.note(printable(`${message}; trying again`)),
    verified: (found) => {
      verified = found;
    },
  });
  await writeOutput({ name: '-', terminal, toTerminal: true }, (sink) => sink.write(counted(bytes, task.add)));
  task.end();
  const result = { name, size, path: '-', outcome: 'downloaded', verified } as const;
  output.note(`${printable(name)}: ${formatBytes(size)}${summaryText([result], claims)}`);
  const unverified = unverifiedError([result], claims);
  if (unverified) throw unverified;
}
