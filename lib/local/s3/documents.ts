import { appendFileSync, existsSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';

/** Replaces a file. What it had stays if the disk is full. */
export function writeDocument(path: string, content: unknown): void {
  const next = `${path}.new`;
  writeFileSync(next, JSON.stringify(content), { mode: 0o600 });
  renameSync(next, path);
}

export function readDocument<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

/** Adds a line to a file, or nothing if the disk is full. */
export function appendLine(path: string, content: unknown): void {
  const size = existsSync(path) ? statSync(path).size : 0;
  try {
    appendFileSync(path, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  } catch (error) {
    if (existsSync(path)) truncateSync(path, size);
    throw error;
  }
}

/** The lines of a file, none if it is missing. */
export function readLines<T>(path: string): readonly T[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as T);
}
