import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackage } from '../../bin/build/package.ts';

let built: Promise<string> | undefined;

/** Folder of the package as it is published. Built once in a worker; nothing may be written there. */
export function builtPackage(): Promise<string> {
  built ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'data-out-package-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    await buildPackage(folder);
    // Other users may run it.
    chmodSync(folder, 0o755);
    return folder;
  })();
  return built;
}
