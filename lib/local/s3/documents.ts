import { appendFileSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { isCode } from '../errors.ts';

/** Write a JSON document whole or not at all. */
export function writeDocument(path: string, content: unknown): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, JSON.stringify(content), { mode: 0o600 });
  renameSync(temporary, path);
}

export function readDocument<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

/** Add a line to a file, whole or not at all: a full disk may take only the beginning of one. */
export function appendLine(path: string, content: unknown): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  try {
    appendFileSync(path, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  } catch (error) {
    truncateSync(path, size);
    throw error;
  }
}

/**
 * The lines of a file, none if it is missing. A last line that is not whole, because a process died, is cut off the
 * file.
 */
export function readLines<T>(path: string): readonly T[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole));
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}
