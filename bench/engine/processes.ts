import { readFileSync } from 'node:fs';

/** A process of the engine. */
export interface EngineProcess {
  /** `engine`, `queues`, or the function's name in the template. */
  readonly name: string;
  /** The most memory that it had (`VmHWM`), in bytes. */
  readonly peak: number;
  /** Processor time so far, in milliseconds, in steps of 10. */
  readonly milliseconds: number;
}

/** The engine's own process and its children. Linux only. */
export function processesOf(engine: number): readonly EngineProcess[] {
  const children = read(engine, `task/${engine}/children`).trim().split(' ').map(Number);
  return [engine, ...children].flatMap((pid) => {
    try {
      return [{ name: pid === engine ? 'engine' : nameOf(pid), peak: peakOf(pid), milliseconds: processorTimeOf(pid) }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

function nameOf(pid: number): string {
  if (read(pid, 'cmdline').includes('queue-server-process')) return 'queues';
  return /AWS_LAMBDA_FUNCTION_NAME=.*?Functions(\w+?)Function/.exec(read(pid, 'environ'))?.[1] ?? 'another function';
}

function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(read(pid, 'status'))?.[1]) * 1024;
}

function processorTimeOf(pid: number): number {
  // Behind the program's name, the 12th and 13th field are user and system time, in hundredths of a second.
  const fields = read(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function read(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'latin1');
}
