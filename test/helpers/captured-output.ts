import { vi } from 'vitest';

/** Captures all that the process writes to stdout and stderr from now on: what CloudWatch would receive. */
export function captureOutput() {
  let text = '';
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((chunk) => {
      text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      return true;
    }),
  );
  return {
    text: () => text,
    /** The JSON documents among the lines. */
    documents: (): Record<string, unknown>[] =>
      text
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    clear: () => {
      text = '';
    },
    restore: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}
