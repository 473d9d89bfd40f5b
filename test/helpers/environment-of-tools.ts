/** What a process needs to find its programs, and to start as quickly as the one before. Nothing else of the tester's. */
export function environmentOfTools(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
}
