import { readFileSync } from 'node:fs';

/**
 * Names the time since this machine was started; `undefined` where the system does not say. What a process has written
 * outlives the process, on the disk or not; it need not outlive the machine.
 */
export const bootId: string | undefined = read();

function read(): string | undefined {
  try {
    // random(4)
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim() || undefined;
  } catch {
    return undefined;
  }
}
