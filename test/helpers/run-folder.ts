import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'data-out-run-';

/** One temporary folder for a whole run: what workers share (an engine, a database) has no separate end to clean up in. */
export function setup(): (() => void) | undefined {
  // Vitest calls this for each project.
  if (basename(tmpdir()).startsWith(prefix)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), prefix));
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
