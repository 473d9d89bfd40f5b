/** Frames of a stack that a log line carries. */
const frames = 5;

/**
 * An error as fields of a log line: picked ones only, because libraries hang inputs and claims on their errors, and the
 * logger would write them all.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error };
  const { name, message, cause, stack } = error;
  const at = stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return {
    error: name,
    detail: message,
    ...(cause instanceof Error && { cause: cause.name, causeDetail: cause.message }),
    ...(at.length > 0 && { at: at.slice(0, frames).map((frame) => frame.trim()) }),
  };
}
