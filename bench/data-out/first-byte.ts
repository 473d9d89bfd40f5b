import { setTimeout as pause } from 'node:timers/promises';
import type { AwsCall } from '../../lib/local/endpoint/traffic.ts';
import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import { formatBytes, formatDuration } from '../../lib/terminal/output.ts';
import { figure, type Report, verdict } from '../report.ts';
import type { Stage } from './stage.ts';

/**
 * How long S3 takes for a read: no time, as the embedded one, or some milliseconds until it answers and then some for
 * every MiB, as over a network.
 */
const lines = [
  { name: 'none', answerMs: 0, mebibyteMs: 0 },
  { name: '20 ms, 50 MiB/s', answerMs: 20, mebibyteMs: 20 },
  { name: '80 ms, 20 MiB/s', answerMs: 80, mebibyteMs: 50 },
];

const mebibyte = 2 ** 20;

/** Whether the first byte leaves before the second read of S3 has ended, and how much time reading ahead saves. */
export async function firstByte(report: Report, stage: Stage, file: AddedFile): Promise<void> {
  const { traffic } = stage.service.engine;
  const rows: string[][] = [];
  for (const { name, answerMs, mebibyteMs } of lines) {
    const ends: number[] = [];
    const stopLooking = traffic.observe((call) => {
      if (isRead(call)) ends.push(performance.timeOrigin + performance.now());
    });
    const stopDelaying = traffic.addFault((call) =>
      isRead(call) ? { delayMs: Math.round(answerMs + (mebibyteMs * lengthOf(call)) / mebibyte) } : undefined,
    );
    const { bytes, milliseconds, firstByteMs, firstByteAt } = await stage.client.run([stage.file(file)]);
    // The engine sees the end of a call a moment after its reader.
    await pause(50);
    stopDelaying();
    stopLooking();
    const second = (ends[1] ?? Number.NaN) - firstByteAt + firstByteMs;
    rows.push([
      name,
      String(ends.length),
      formatDuration(firstByteMs),
      formatDuration(second),
      verdict(firstByteMs < second),
      figure(bytes / 1000 / milliseconds),
    ]);
  }
  report.text(`A plaintext of ${formatBytes(file.decryptedSize)}, with every read of S3 held back by so much.`);
  report.table(['line to S3', 'reads', 'first byte', 'end of the second read', 'first byte before it', 'MB/s'], rows);
}

function isRead({ caller, service, action }: AwsCall): boolean {
  return caller === 'direct-file' && service === 's3' && action === 'GetObject';
}

function lengthOf({ headers }: AwsCall): number {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(headers.range)) ?? [];
  return Number(last) - Number(first) + 1;
}
