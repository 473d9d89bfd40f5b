/** What a command touches of the process. Tests give their own; only `bin/` knows the real one. */
export interface Terminal {
  /** Standard input: bytes of a piped file, or keys typed by a person. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Standard output: results alone, so that they can be piped. */
  readonly write: (text: string) => void;
  /** Standard error: everything else. */
  readonly report: (text: string) => void;
  /** Whether standard error is a terminal, where a line can be written over. */
  readonly isTerminal: boolean;
  /** Ask for a secret without showing it; `undefined` where nobody can be asked. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths begin at. */
  readonly folder: string;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
  readonly now: () => Date;
}
