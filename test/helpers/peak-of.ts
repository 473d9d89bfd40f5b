import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * The most memory that a process had at once, in bytes, as Linux reports it (`VmHWM`) until it ends; `undefined` on
 * other systems.
 */
export function peakOf({ pid }: ChildProcess, ended: Promise<unknown>): Promise<number | undefined> {
  let peak: number | undefined;
  const look = () => {
    try {
      const [, kibibytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
      if (kibibytes !== undefined) peak = Number(kibibytes) * 1024;
    } catch {
      // No such file: it has ended, or this is not Linux.
    }
  };
  const timer = setInterval(look, 20);
  return ended.then(() => {
    clearInterval(timer);
    return peak;
  });
}
