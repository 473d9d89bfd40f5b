import { setTimeout as pause } from 'node:timers/promises';
import type { AwsCall } from '../../../lib/local/aws/traffic.ts';
import type { AddedFile } from '../../../lib/ops/archive/add-file.ts';
import { formatDuration } from '../../../lib/terminal/output.ts';
import { figure, type Report, verdict } from '../report.ts';
import type { Stage } from './stage.ts';

/** What S3 takes before it answers, in milliseconds: nothing as the embedded one does, and as over a network. */
const latencies = [0, 30, 100];

/** Whether the first byte leaves before the second read of S3 has ended, and what reading ahead is worth. */
export async function firstByte(report: Report, stage: Stage, file: AddedFile): Promise<void> {
  const { traffic } = stage.service.engine;
  const rows: string[][] = [];
  for (const delayMs of latencies) {
    const ends: number[] = [];
    const stopLooking = traffic.observe((call) => {
      if (isRead(call)) ends.push(performance.timeOrigin + performance.now());
    });
    const stopDelaying = traffic.addFault((call) => (isRead(call) && delayMs > 0 ? { delayMs } : undefined));
    const { bytes, milliseconds, firstByteMs, firstByteAt } = await stage.client.run([stage.file(file)]);
    // The engine sees the end of a call a moment after its reader.
    await pause(50);
    stopDelaying();
    stopLooking();
    const second = (ends[1] ?? Number.NaN) - firstByteAt + firstByteMs;
    rows.push([
      `${delayMs} ms`,
      String(ends.length),
      formatDuration(firstByteMs),
      formatDuration(second),
      verdict(firstByteMs < second),
      figure(bytes / 1000 / milliseconds),
    ]);
  }
  report.text('A plaintext, with every read of S3 held back by so much.');
  report.table(
    ['latency of S3', 'reads', 'first byte', 'end of the second read', 'first byte before it', 'MB/s'],
    rows,
  );
}

function isRead({ caller, service, action }: AwsCall): boolean {
  return caller === 'direct-file' && service === 's3' && action === 'GetObject';
}
