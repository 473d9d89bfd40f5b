import { createHash } from 'node:crypto';
import { isDeviceName } from '../contract/file-name.ts';
import { limits } from '../contract/limits.ts';

const suffix = '.c4gh';
/** Longest id part; a longer one is replaced by its hash, so that the base name keeps most of the 255 characters. */
const longestId = 128;
/** Characters kept from the end of a base name that must be cut: the part with its extensions. */
const keptEnding = 24;

/**
 * Outbox name of a file: `<file id>-<base name>.c4gh`, one path segment of `[A-Za-z0-9._-]`, at most 255 characters.
 *
 * Unique for a file id: the id part holds no `-`, so it ends at the first `-` (or at the suffix, when there is no base
 * name), and no two ids share an id part. Ids of the form `EGAF…` appear as they are.
 *
 * @param fileId stable id of the file
 * @param submissionFilePath what the submitter called it: any text; only what follows the last `/` or `\` is used, and
 *   a final `.c4gh` of it is dropped. Characters outside the safe set become `_` (after NFC, so that an accented
 *   letter is one character however it was typed), as do dots at either end.
 */
export function outboxFileName(fileId: string, submissionFilePath: string): string {
  const id = idPart(fileId);
  const base = baseName(submissionFilePath);
  if (base === '') return `${id}${suffix}`;
  const room = limits.fileNameLength - id.length - 1 - suffix.length;
  return `${id}-${shortened(base, room)}${suffix}`;
}

/**
 * The id with every character but letters, digits and inner dots as `_` and the two hex digits of each UTF-8 byte; the
 * first character also where Windows would take the id for a device. It can be decoded, so two ids never meet; `__`, which
 * no encoded id contains, marks an id too long to be spelt out.
 */
function idPart(fileId: string): string {
  const special = isDeviceName(fileId) ? /^.|[^A-Za-z0-9.]/gu : /^\.|[^A-Za-z0-9.]/gu;
  const encoded = fileId.replace(special, (character) =>
    Array.from(Buffer.from(character), (byte) => `_${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  if (encoded !== '' && encoded.length <= longestId) return encoded;
  return `__${createHash('sha256').update(fileId).digest('hex')}`;
}

function baseName(path: string): string {
  const segment = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return segment
    .replace(/\.c4gh$/i, '')
    .normalize('NFC')
    .replace(/[^A-Za-z0-9._-]/gu, '_')
    .replace(/^\.+|\.+$/g, (dots) => '_'.repeat(dots.length));
}

function shortened(base: string, room: number): string {
  return base.length <= room ? base : base.slice(0, room - keptEnding) + base.slice(-keptEnding);
}
