import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

export function writeDocument(path: string, content: unknown): void {
  writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
}

export function readDocument<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

/** Add a line to a file. */
export function appendLine(path: string, content: unknown): void {
  appendFileSync(path, `${JSON.stringify(content)}\n`, { mode: 0o600 });
}

/** The lines of a file, none if it is missing. */
export function readLines<T>(path: string): readonly T[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  return lines.map((line) => JSON.parse(line) as T);
}
