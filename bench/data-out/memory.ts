import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import { formatBytes } from '../../lib/terminal/output.ts';
import { type Report, verdict } from '../report.ts';
import type { Stage } from './stage.ts';

const targetBytes = 128 * 2 ** 20;
const timesMore = 5;

/**
 * Peak memory of the function's process after files of these sizes. The smallest is first, because a peak never falls.
 */
export async function memory(report: Report, stage: Stage, files: readonly AddedFile[]): Promise<void> {
  const rows: string[][] = [];
  const remember = (what: string) => {
    const peak = stage.peakMemory('direct-file');
    rows.push([
      what,
      peak === undefined ? 'not known here' : formatBytes(peak),
      peak === undefined ? '' : verdict(peak <= targetBytes),
    ]);
  };
  for (const file of files) {
    await stage.client.run([stage.file(file)]);
    remember(formatBytes(file.decryptedSize));
  }
  const largest = files.at(-1);
  if (largest === undefined) return;
  for (let times = 0; times < timesMore; times += 1) await stage.client.run([stage.file(largest)]);
  remember(`${formatBytes(largest.decryptedSize)}, ${timesMore} times more`);
  report.table(['plaintext', 'peak memory', '≤ 128 MiB'], rows);
}
