import { usageError } from '../../../terminal/errors.ts';
import { formatBytes, printable } from '../../../terminal/output.ts';
import type { Claims } from '../../api/delivery/claims.ts';
import type { ReadReceipts } from '../../api/delivery/receipt-files.ts';
import type { Expectation, Verified } from '../../api/download/expected.ts';
import { Locations } from '../../api/download/remote/locations.ts';
import { StagedFile } from '../../api/download/remote/staged-file.ts';
import { streamFile } from '../../api/download/stream-file.ts';
import { ClientError } from '../../api/errors.ts';
import type { ListedFile, ProxyApi } from '../../api/proxy.ts';
import { writeOutput } from '../files/output-file.ts';
import { counted } from '../files/streams.ts';
import type { Session } from '../session.ts';
import { summaryOf, summaryText } from './delivery-summary.ts';

interface PipeDownload {
  readonly session: Session;
  readonly proxy: ProxyApi;
  readonly connections: number;
  readonly expected: (file: ListedFile) => Expectation;
  readonly reading: Promise<ReadReceipts & { readonly claims: Claims }>;
}

/** Writes one file to standard output, as `streamFile` does. @throws ClientError unless all of it was taken; UsageError */
export async function pipeDownload(files: readonly ListedFile[], options: PipeDownload): Promise<void> {
  const { session, proxy, connections, expected, reading } = options;
  const { terminal, output, progress } = session;
  const [file, ...others] = files;
  if (file === undefined || others.length > 0) {
    throw usageError('--output', `standard output takes one file, not ${files.length}`, 'Name one file, or a folder.');
  }
  const { signal } = terminal;
  const { transport } = proxy.connection;
  const { name } = file;
  const size = file.size;
  const remote = new StagedFile({ name, size, locations: new Locations(proxy), transport });
  const retrying = ({ message }: Error) => output.note(printable(`${message}; trying again`));
  let verified: Verified | undefined;
  const compared = async (found: Verified | undefined) => {
    const { refused } = await reading;
    if (refused[0]) throw refused[0];
    verified = found;
  };
  using task = progress.task(printable(name), size);
  let isTaken = false;
  async function* bytes() {
    const given = {
      remote,
      expected: expected(file as ListedFile),
      compared,
      connections,
      transport,
      signal,
      retrying,
    };
    yield* counted(streamFile(given), task.add);
    isTaken = true;
  }
  await writeOutput({ name: '-', terminal, toTerminal: true }, (sink) => sink.write(bytes()));
  if (!isTaken) throw new ClientError('partial', `${name}: the reader of standard output ended before the file`);
  task.end();
  const { claims } = await reading;
  const summary = summaryOf([{ name, size, path: '-', outcome: 'downloaded', verified }], claims);
  output.note(`${printable(name)}: ${formatBytes(size)}${summaryText(summary)}`);
}
