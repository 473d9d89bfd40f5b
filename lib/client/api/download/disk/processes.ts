import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { hasCode } from './local-disk.ts';

/** Identifies a process beyond its end, as far as the system allows. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The machine, and on Linux its process namespace: `pid` means something only there. */
  readonly host: string;
  /** Start time as the system counts it; empty where it is not known. It tells two processes with one `pid` apart. */
  readonly began: string;
}

/**
 * Identifies the time since this machine was started (random(4)); `undefined` where the system does not say. What a process
 * has written survives the process, even if it is not on the disk yet. It may not survive a crash of the machine.
 */
export const bootId = systemText(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());

export const thisProcess: ProcessIdentity = {
  pid: process.pid,
  host: `${hostname()}/${systemText(() => readlinkSync('/proc/self/ns/pid')) ?? ''}`,
  began: statusOf('self').began,
};

/** Whether a process runs; `undefined` for one of another host, which cannot be asked from here. */
export function isRunning({ pid, host, began }: ProcessIdentity): boolean | undefined {
  if (host !== thisProcess.host) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, under another user.
    return hasCode(error, 'EPERM');
  }
  const now = statusOf(pid);
  return !now.hasEnded && (now.began === '' || began === '' || now.began === began);
}

/** Fields 3 and 22 of /proc/[pid]/stat (proc(5)); the name before them is in brackets and may hold anything. */
function statusOf(pid: number | 'self'): { readonly hasEnded: boolean; readonly began: string } {
  const stat = systemText(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Z, X: it has ended, and its parent has not asked for its exit status yet.
  return { hasEnded: /^[ZX]$/.test(fields[0] ?? ''), began: fields[19] ?? '' };
}

/** Text that the system gives; `undefined` if it is empty or cannot be read. */
function systemText(read: () => string): string | undefined {
  try {
    return read() || undefined;
  } catch {
    return undefined;
  }
}
