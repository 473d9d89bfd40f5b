import { readdirSync, readFileSync } from 'node:fs';

/**
 * Peak memory of a process of a function, in bytes, for the local engine of this process. `undefined` when there is no
 * such process, or no `/proc`.
 */
export function peakMemory(functionName: string): number | undefined {
  const peaks = ofProcesses(functionName, peakOf);
  return peaks.length === 0 ? undefined : Math.max(...peaks);
}

/** Resident memory of the largest process of a function, in bytes; `undefined` as above. */
export function residentMemory(functionName: string): number | undefined {
  const sizes = ofProcesses(functionName, (pid) => field(read(pid, 'status'), 'VmRSS') * 1024);
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}

function ofProcesses(functionName: string, measure: (pid: string) => number): readonly number[] {
  return processes().flatMap((pid): number[] => {
    try {
      const isOurs = field(read(pid, 'status'), 'PPid') === process.pid;
      if (!isOurs) return [];
      const environment = read(pid, 'environ').split('\0');
      return environment.includes(`AWS_LAMBDA_FUNCTION_NAME=${functionName}`) ? [measure(pid)] : [];
    } catch {
      // It ended meanwhile, or is another user's.
      return [];
    }
  });
}

/** The most memory that a process had, in bytes. */
function peakOf(pid: string): number {
  return field(read(pid, 'status'), 'VmHWM') * 1024;
}

function processes(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** A file of `/proc` about a process. */
function read(pid: string, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'latin1');
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
}
