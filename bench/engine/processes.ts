import { peakOf, processorSecondsOf, read } from '../worker-memory.ts';

/** A process of the engine. */
export interface EngineProcess {
  /** `engine`, `queues`, or the function's name in the template. */
  readonly name: string;
  /** The most memory that it had, in bytes. */
  readonly peak: number;
  /** Processor time so far. */
  readonly milliseconds: number;
}

/** The engine's own process and its children. Linux only. */
export function processesOf(engine: number): readonly EngineProcess[] {
  const children = read(`${engine}`, `task/${engine}/children`).trim().split(' ');
  return [`${engine}`, ...children].flatMap((pid) => {
    try {
      const name = pid === `${engine}` ? 'engine' : nameOf(pid);
      return [{ name, peak: peakOf(pid), milliseconds: processorSecondsOf(pid) * 1000 }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

function nameOf(pid: string): string {
  if (read(pid, 'cmdline').includes('queue-server-process')) return 'queues';
  return /AWS_LAMBDA_FUNCTION_NAME=.*?Functions(\w+?)Function/.exec(read(pid, 'environ'))?.[1] ?? 'another function';
}
