import type { Writable } from 'node:stream';

/** What a command touches of the process. Tests give their own; only `bin/` knows the real one. */
export interface Terminal {
  /** Standard input: bytes of a piped file, or keys typed by a person. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Standard output: results alone, so that they can be piped. */
  readonly write: (text: string) => void;
  /** The same as a stream, for results that are files: bytes, with back-pressure. */
  readonly output: Writable;
  /**
   * Resolves when standard output has taken everything. A reader that went away is no failure.
   * @default - it takes everything at once
   * @throws what it failed with: a full disk, for one
   */
  readonly flush?: (() => Promise<void>) | undefined;
  /** Whether standard output is a terminal, where the bytes of a file do not belong. */
  readonly outputIsTerminal: boolean;
  /** Standard error: everything else. */
  readonly report: (text: string) => void;
  /** Whether standard error is a terminal, where a line can be written over. */
  readonly isTerminal: boolean;
  /** Columns and rows of the terminal, as they are now; `undefined` without one. */
  readonly size: () => { readonly columns: number; readonly rows: number } | undefined;
  /** Ask for a secret without showing it; `undefined` where standard input is not a person. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** The same where standard input may be data: asks on the terminal that controls the process, if there is one. */
  readonly askAside: ((question: string) => Promise<string>) | undefined;
  /** Ask for something that may be seen, such as a name to confirm. @default - standard input is not a person */
  readonly askShown?: ((question: string) => Promise<string>) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths begin at. */
  readonly folder: string;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
  readonly now: () => Date;
}
