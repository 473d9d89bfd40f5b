import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Claims } from '../client/delivery/claims.ts';
import { fetchReceipts } from '../client/delivery/fetch-receipts.ts';
import { onDisk } from '../client/download/disk/local-disk.ts';
import { ClientError } from '../client/errors.ts';
import type { ListedFile, ProxyApi } from '../client/proxy.ts';
import { isReceiptName } from '../contract/delivery.ts';
import { formatBytes, printable } from '../terminal/output.ts';
import type { Session } from './session.ts';

/** Bytes of receipts that are read without being asked for: those of some 7,000 files. */
const mostBytes = 4 * 1024 * 1024;
/** Receipts that are read without being asked for. Each costs two requests. */
const mostReceipts = 100;
/** The listing does not wait longer for storage, unless it is asked to. */
const patienceMs = 20_000;

/** The path that the submitter gave a staged file; `undefined` if no receipt says it. It is text from elsewhere. */
export type PathOf = (name: string) => string | undefined;

/**
 * Reads the submitted paths of staged files from their delivery receipts. A receipt that cannot be read is no failure.
 * @param wanted `true`: however large the receipts are; `undefined`: the newest, if they are small
 * @throws ClientError `interrupted`
 */
export async function submittedPaths(
  { terminal, output }: Session,
  { proxy, files, wanted }: { proxy: ProxyApi; files: readonly ListedFile[]; wanted: boolean | undefined },
): Promise<PathOf> {
  const receipts = wanted === false ? [] : files.filter(({ name }) => isReceiptName(name));
  const read = wanted ? receipts : newestOf(receipts);
  let claims = new Claims([]);
  const note = (what: string) => output.note(`Some submitted paths are not shown: ${what}`);
  if (read.length > 0) {
    const signal = wanted ? terminal.signal : AbortSignal.any([terminal.signal, AbortSignal.timeout(patienceMs)]);
    try {
      claims = await readClaims(proxy, read, { signal, refused: ({ message }) => output.warn(printable(message)) });
    } catch (error) {
      if (!(error instanceof ClientError) || terminal.signal.aborted) throw error;
      note(
        signal.aborted
          ? `the delivery receipts did not come within ${patienceMs / 1000} s. --paths waits longer.`
          : printable(error.message),
      );
    }
  }
  const left = receipts.filter((receipt) => !read.includes(receipt));
  const bytes = left.reduce((sum, { size }) => sum + size, 0);
  if (left.length > 0) {
    const count = left.length === 1 ? '1 delivery receipt was' : `${left.length} delivery receipts were`;
    note(`${count} not read (${formatBytes(bytes)}). --paths reads all.`);
  }
  return (name) => claims.of(name)?.file.path;
}

/** The newest receipts, within {@link mostReceipts} and {@link mostBytes}. */
function newestOf(receipts: readonly ListedFile[]): readonly ListedFile[] {
  const newest = receipts.toSorted((one, other) => Number(other.modified ?? 0) - Number(one.modified ?? 0));
  let bytes = 0;
  return newest.slice(0, mostReceipts).filter(({ size }) => {
    if (bytes + size > mostBytes) return false;
    bytes += size;
    return true;
  });
}

async function readClaims(
  proxy: ProxyApi,
  files: readonly ListedFile[],
  { signal, refused }: { signal: AbortSignal; refused: (error: ClientError) => void },
): Promise<Claims> {
  const folder = await onDisk(tmpdir(), () => mkdtemp(join(tmpdir(), 'data-out-receipts-')));
  try {
    const read = await fetchReceipts({ proxy, files, folder, sync: false, signal });
    for (const error of read.refused) refused(error);
    return new Claims(read.receipts);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
