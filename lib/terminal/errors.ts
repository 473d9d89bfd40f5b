/** The user ended the program by Ctrl-C or a signal. Started work is undone or can be resumed. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
  readonly code = 'interrupted';
  constructor() {
    super('interrupted');
  }
}

/** The program that reads standard output has ended, as `head` does. The command then ends without a message. */
export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
  constructor() {
    super('the reader of standard output is gone');
  }
}

/** The user must correct the command line or a setting. `message` says what is wrong, `remedy` what to do. Without secrets. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'usage';
  readonly remedy: string | undefined;
  constructor(message: string, options: { readonly remedy?: string | undefined; readonly cause?: unknown } = {}) {
    super(message, options);
    this.remedy = options.remedy;
  }
}

/** A wrong argument, option or setting. @param source its name, as the user wrote it: `--output`, `DATA_OUT_URL` */
export function usageError(source: string, message: string, remedy?: string): UsageError {
  return new UsageError(`${source}: ${message}`, { remedy });
}
