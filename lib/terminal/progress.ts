import { formatBytes, formatDuration } from './output.ts';
import type { Terminal } from './terminal.ts';

/** How often progress is shown, in milliseconds: on a line of its own it must not fill a log. */
const terminalPeriod = 200;
const logPeriod = 10_000;

/** Progress of work that is measured in bytes. */
export interface Progress {
  add(bytes: number): void;
  /** Remove or end the line. */
  end(): void;
}

/**
 * Report progress on standard error: one line written over and over on a terminal, a plain line every ten seconds
 * elsewhere. Work that is done sooner reports nothing.
 */
export function startProgress(terminal: Terminal, label: string, totalBytes: number | undefined): Progress {
  const started = terminal.now().getTime();
  const period = terminal.isTerminal ? terminalPeriod : logPeriod;
  let shown = started;
  let drawn = false;
  let done = 0;

  return {
    add(bytes) {
      done += bytes;
      const now = terminal.now().getTime();
      if (now - shown < period) return;
      shown = now;
      const line = `${label}: ${describe(done, totalBytes, now - started)}`;
      terminal.report(terminal.isTerminal ? `\r${line}\u001b[K` : `${line}\n`);
      drawn = terminal.isTerminal;
    },
    end() {
      if (drawn) terminal.report('\r\u001b[K');
      drawn = false;
    },
  };
}

function describe(done: number, total: number | undefined, elapsed: number): string {
  const rate = (done / elapsed) * 1000;
  const speed = `${formatBytes(Math.round(rate))}/s`;
  if (total === undefined || total === 0) return `${formatBytes(done)}, ${speed}`;
  const left = rate > 0 ? `, ${formatDuration((Math.max(total - done, 0) / rate) * 1000)} left` : '';
  return `${formatBytes(done)} of ${formatBytes(total)} (${Math.floor((done / total) * 100)} %), ${speed}${left}`;
}
