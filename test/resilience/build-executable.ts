import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildExecutables, executableName, type Platform } from '../../bin/build/executables.ts';

/** The executable for this machine, for the tests of one project. @returns what removes it */
export default async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-executable-'));
  const platform = `linux-${process.arch}` as Platform;
  await buildExecutables(folder, [platform]);
  config.env.DATA_OUT_EXECUTABLE = join(folder, executableName(platform));
  return () => rm(folder, { recursive: true });
}
