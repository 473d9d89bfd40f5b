/** The user ended the program, by Ctrl-C or a signal: what was begun is undone or can be resumed. */
export class InterruptedError extends Error {
  readonly code = 'interrupted';
  constructor() {
    super('interrupted');
  }
  override get name(): string {
    return 'InterruptedError';
  }
}
