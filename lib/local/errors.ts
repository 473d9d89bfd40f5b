/** The engine cannot do what was asked. `message` is one sentence for a person at a terminal. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
}

/** The cloud assembly holds something that this engine cannot run. Names the stack and the logical id. */
export class UnsupportedTemplateError extends EngineError {
  constructor(where: string, problem: string) {
    super(`${where}: ${problem}`);
  }
}

/** Whether an error of the system has one of these codes, for example `ENOENT`. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** PostgreSQL, SQLite and the synth have no code for it, only words. */
const said = /\b(ENOSPC|EDQUOT)\b|No space left on device|disk is full/;

/**
 * The error of a start that a full disk ended; any other error stays as it is. What the system says names the file that was copied,
 * not the disk that is full.
 * @param folders where the synth and the engine write
 */
export function fullDiskError(error: unknown, folders: { readonly synth: string; readonly state: string }): unknown {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  if (!causes.some((cause) => ('code' in cause && said.test(String(cause.code))) || said.test(cause.message)))
    return error;
  if (causes.some(({ message }) => message.startsWith('The synth of the template failed'))) {
    return new EngineError(`the disk of ${folders.synth} is full: make room there, then start again`, { cause: error });
  }
  const remedy = 'make room there, or name a folder on another disk with --data-dir';
  return new EngineError(`the disk of ${folders.state} is full: ${remedy}`, { cause: error });
}
