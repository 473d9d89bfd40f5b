import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Runs a program to its end, whatever its exit code. @returns what it wrote on both streams */
export async function runProgram(program: string, argv: readonly string[], cwd: string): Promise<string> {
  const child = spawn(program, argv, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return stdout + stderr;
}
