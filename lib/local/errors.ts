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
