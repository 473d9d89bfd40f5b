import type { Terminal } from '../../lib/terminal/terminal.ts';
import { type CliRun, runCli } from './cli-run.ts';

/** `data-out serve` in this process, until it is ended as by Ctrl-C. */
export interface RunningServe {
  /** Address of the root, with the token. */
  readonly url: string;
  /** What it has said so far on standard error. */
  said(): string;
  end(): Promise<CliRun>;
}

/** Starts `data-out serve`. @throws when it ends before it has printed an address */
export async function startServe(argv: readonly string[], choices: Partial<Terminal> = {}): Promise<RunningServe> {
  const interrupt = new AbortController();
  const said: string[] = [];
  const address = Promise.withResolvers<string>();
  const ended = runCli(['serve', ...argv], {
    signal: interrupt.signal,
    write: (text) => address.resolve(text.trim()),
    report: (text) => void said.push(text),
    ...choices,
  });
  const failed = ended.then(() => Promise.reject(new Error(`serve ended: ${said.join('')}`)));
  failed.catch(() => undefined);
  const url = await Promise.race([address.promise, failed]);
  return {
    url,
    said: () => said.join(''),
    end: () => {
      interrupt.abort();
      return ended;
    },
  };
}
