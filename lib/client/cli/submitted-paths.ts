import { isReceiptName } from '../../contract/delivery.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import { Claims } from '../api/delivery/claims.ts';
import { fetchReceipts } from '../api/delivery/fetch-receipts.ts';
import { requestOf } from '../api/delivery/receipt-files.ts';
import { ReceiptFolder } from '../api/delivery/receipt-folder.ts';
import { ClientError } from '../api/errors.ts';
import { decodeVisaOrPassport, subjectOf } from '../api/order/decoded-visa.ts';
import type { ListedFile, ProxyApi } from '../api/proxy.ts';
import { findOwnKeys, recipientsOf, warnOfReceipts } from './own-keys.ts';
import { receiptKeys } from './receipt-keys.ts';
import type { Session } from './session.ts';
import type { Settings } from './settings.ts';
import { cachePath } from './sources.ts';

/** Bytes of receipts that are read without `--paths`: those of some 7,000 files. */
const mostBytes = 4 * 1024 * 1024;
/** Receipts that are read without `--paths`. Each costs a request. */
const mostReceipts = 100;
/** Milliseconds that the listing waits for the receipt keys and, without `--paths`, for receipts. */
const timeoutMs = 10_000;

/** The path that the submitter gave a staged file; `undefined` if no receipt says it. Untrusted text. */
export type PathOf = (name: string) => string | undefined;

/**
 * Reads the submitted paths of staged files from their delivery receipts. A receipt that cannot be read is not an error.
 * @param wanted `true`: from all receipts; `undefined`: from the newest, if they are small
 * @throws ClientError `interrupted`
 */
export async function submittedPaths(
  session: Session,
  { proxy, files, wanted }: { proxy: ProxyApi; files: readonly ListedFile[]; wanted: boolean | undefined },
): Promise<PathOf> {
  const { terminal, output, progress } = session;
  const receipts = wanted === false ? [] : files.filter(({ name }) => isReceiptName(name));
  const read = wanted ? receipts : newestOf(receipts);
  let claims = new Claims([]);
  if (read.length > 0) {
    const limited = AbortSignal.any([terminal.signal, AbortSignal.timeout(timeoutMs)]);
    const signal = wanted ? terminal.signal : limited;
    try {
      await using folder = await ReceiptFolder.open(cachePath(terminal), terminal.now);
      const counter = progress.counter('reading receipts', read.length);
      const keys = () => receiptKeys(session, proxy, limited);
      const own = await findOwnKeys(session);
      const options = { proxy, files: read, folder, counter, signal, keys, ownKeys: recipientsOf(own) };
      const found = await fetchReceipts(options).finally(counter.end);
      warnOfReceipts(session, found, own);
      claims = new Claims(found.receipts);
    } catch (error) {
      if (!(error instanceof ClientError) || terminal.signal.aborted) throw error;
      const what = wanted ? 'the receipt keys' : 'the delivery receipts';
      const late = `${what} did not arrive within ${timeoutMs / 1000} s.${wanted ? '' : ' --paths waits longer.'}`;
      output.warn(
        `some submitted paths are not shown: ${error.code === 'interrupted' ? late : printable(error.message)}`,
      );
    }
  }
  const left = receipts.filter((receipt) => !read.includes(receipt));
  const bytes = left.reduce((sum, { size }) => sum + size, 0);
  if (left.length > 0) {
    const count = left.length === 1 ? '1 delivery receipt was' : `${left.length} delivery receipts were`;
    output.note(`Some submitted paths are not shown: ${count} not read (${formatBytes(bytes)}). --paths reads all.`);
  }
  return (name) => claims.of(name)?.file.path;
}

/** Of a receipt in parts, all or none. */
function newestOf(receipts: readonly ListedFile[]): readonly ListedFile[] {
  const newest = receipts.toSorted((one, other) => Number(other.modified ?? 0) - Number(one.modified ?? 0));
  const requests = [...Map.groupBy(newest, ({ name }) => requestOf(name)).values()];
  let bytes = 0;
  return requests.slice(0, mostReceipts).flatMap((parts) => {
    const size = parts.reduce((sum, each) => sum + each.size, 0);
    if (bytes + size > mostBytes) return [];
    bytes += size;
    return parts;
  });
}

/** Says that nothing is staged, and for whom, as the visa has it: with another person's visa, another outbox is empty. */
export async function nothingStaged({ visa }: Pick<Settings, 'visa'>): Promise<string> {
  const decoded = decodeVisaOrPassport((await visa?.()) ?? '');
  const subject = decoded && subjectOf(decoded);
  return subject === undefined ? 'no files are staged' : `no files are staged for ${printable(subject)}`;
}
