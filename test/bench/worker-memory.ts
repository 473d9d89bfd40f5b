import { readdirSync, readFileSync } from 'node:fs';

/**
 * The most memory that a process of a function has had, in bytes, for the local engine of this process. `undefined` when
 * there is no such process, or no `/proc`.
 */
export function peakMemory(functionName: string): number | undefined {
  const found = processes().flatMap((pid): number[] => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      const isOurs = field(status, 'PPid') === process.pid;
      const isFunction = environment.includes(`AWS_LAMBDA_FUNCTION_NAME=${functionName}`);
      return isOurs && isFunction ? [field(status, 'VmHWM') * 1024] : [];
    } catch {
      // It ended meanwhile, or is another user's.
      return [];
    }
  });
  return found.length === 0 ? undefined : Math.max(...found);
}

function processes(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
}
