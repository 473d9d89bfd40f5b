import { createHash } from 'node:crypto';
import { isReservedName } from '../../common/names.ts';
import { limits } from '../../contract/limits.ts';

const suffix = '.c4gh';
/** Longest id part. A hash replaces a longer one, so that the base name keeps most of the 255 characters. */
const longestId = 128;
/** Characters that a base name keeps from its end when it is cut: they hold its extensions. */
const keptEnding = 24;

/**
 * Outbox name of a file: `<file id>-<base name>.c4gh`, one path segment of `[A-Za-z0-9._-]`, at most 255 characters.
 *
 * Unique for a file id: the id part holds no `-`, so it ends at the first `-` (or at the suffix, when there is no base
 * name), and no two ids share an id part. Ids of the form `EGAF…` appear as they are.
 *
 * @param file its stable id
 * @param submissionFilePath the submitter's path, which may be any text. Its last segment is used, without a final `.c4gh`.
 *   Characters outside the safe set become `_` (after NFC, so that an accented letter is one character in both of its
 *   encodings), as do dots at either end.
 */
export function outboxFileName(file: string, submissionFilePath: string): string {
  const id = idPart(file);
  const base = baseName(submissionFilePath);
  if (base === '') return `${id}${suffix}`;
  const room = limits.fileNameLength - id.length - 1 - suffix.length;
  return `${id}-${shortened(base, room)}${suffix}`;
}

/**
 * The first part of a name in the outbox: an id with every character but letters, digits and inner dots as `_` and the two
 * hex digits of each UTF-8 byte. The first character is also encoded where Windows reserves the id. The
 * encoding can be reversed, so no two ids share one. `__`, which no encoded id contains, marks the hash of an id that is too
 * long.
 */
export function idPart(id: string): string {
  const special = isReservedName(id) ? /^.|[^A-Za-z0-9.]/gu : /^\.|[^A-Za-z0-9.]/gu;
  const encoded = id.replace(special, (character) =>
    Array.from(Buffer.from(character), (byte) => `_${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  if (encoded !== '' && encoded.length <= longestId) return encoded;
  return `__${createHash('sha256').update(id).digest('hex')}`;
}

/** The last segment of a submitter's path, without a final `.c4gh`. Untrusted text; may be empty. */
export function submittedName(submissionFilePath: string): string {
  const separator = Math.max(submissionFilePath.lastIndexOf('/'), submissionFilePath.lastIndexOf('\\'));
  return submissionFilePath.slice(separator + 1).replace(/\.c4gh$/i, '');
}

function baseName(submissionFilePath: string): string {
  return submittedName(submissionFilePath)
    .normalize('NFC')
    .replace(/[^A-Za-z0-9._-]/gu, '_')
    .replace(/^\.+|\.+$/g, (dots) => '_'.repeat(dots.length));
}

function shortened(base: string, room: number): string {
  return base.length <= room ? base : base.slice(0, room - keptEnding) + base.slice(-keptEnding);
}
