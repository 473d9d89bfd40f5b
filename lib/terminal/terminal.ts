import type { Writable } from 'node:stream';

/** The parts of the process that a command uses. Tests replace them; only `bin/` knows the real ones. */
export interface Terminal {
  /** Standard input: bytes of a piped file, or keys typed by a person. */
  readonly input: AsyncIterable<Uint8Array>;
  /**
   * The same for much data: a chunk is valid until the next one is requested. An interrupt ends it.
   * @default - `input`
   */
  readonly passingInput?: AsyncIterable<Uint8Array> | undefined;
  /** Standard output: results alone, so that they can be piped. */
  readonly write: (text: string) => void;
  /** The same as a stream with back-pressure, for results that are files. */
  readonly output: Writable;
  /**
   * Resolves when standard output has taken everything. A closed pipe is not an error.
   * @default - it takes everything at once
   * @throws the error of standard output, such as a full disk
   */
  readonly flush?: (() => Promise<void>) | undefined;
  /** Whether standard output is a terminal, which must not get the bytes of a file. */
  readonly outputIsTerminal: boolean;
  /** Standard error: everything else. */
  readonly report: (text: string) => void;
  /** Whether standard error is a terminal, whose lines can be overwritten. */
  readonly isTerminal: boolean;
  /** Current columns and rows of the terminal, if any. */
  readonly size: () => { readonly columns: number; readonly rows: number } | undefined;
  /** Ask for a secret, without an echo; `undefined` when standard input is not a person. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** The same while standard input is data, on the terminal that controls the process; `undefined` without one. */
  readonly askAside: ((question: string) => Promise<string>) | undefined;
  /** Ask for text that may be shown, such as a name to confirm. @default - standard input is not a person */
  readonly askShown?: ((question: string) => Promise<string>) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of relative paths. */
  readonly folder: string;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
  readonly now: () => Date;
}
