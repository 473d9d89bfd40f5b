import { join } from 'node:path';
import { builtPackage } from './built-package.ts';
import { environmentOfTools } from './environment-of-tools.ts';

/** The client as its users have it: the executable that `DATA_OUT_EXECUTABLE` names, or else the program of the package. */
export async function installedProgram(): Promise<string> {
  return process.env.DATA_OUT_EXECUTABLE ?? join(await builtPackage(), 'bin/data-out.js');
}

/** How a program of the client is started, and the variables that it finds beside the test's own. An executable finds none. */
export function startOf(program: string): {
  readonly command: readonly string[];
  readonly env: Record<string, string>;
} {
  return /\.[jt]s$/.test(program)
    ? { command: [process.execPath, program], env: environmentOfTools() }
    : { command: [program], env: {} };
}
