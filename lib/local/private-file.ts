import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Write a file for its owner only. @returns a function that removes it */
export function writePrivateFile(path: string, text: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  // A file of an engine that died may have other permissions, or be a link.
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return () => {
    // Another engine may have put its own file there.
    if (existsSync(path) && readFileSync(path, 'utf8') === text) rmSync(path);
  };
}
