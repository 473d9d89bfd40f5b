import picomatch from 'picomatch';
import { ClientError } from '../../client/errors.ts';
import type { ListedFile } from '../../client/proxy.ts';
import { printable } from '../../terminal/output.ts';

/** Shown of many names in an error. */
const shown = 5;
/** What is longer is no pattern to the matcher, and no name either. */
const longestPattern = 65_536;

/**
 * The files that names and patterns mean, each once, in the order of the listing. A name that is listed means that file,
 * whatever characters it has; any other may be a pattern, such as `EGAF0001*` or `*.{bam,cram}.c4gh`. Letters count with
 * their case.
 *
 * @throws ClientError `not_found` when one of them means nothing: then nothing at all is begun
 */
export function selectFiles(files: readonly ListedFile[], wanted: readonly string[]): readonly ListedFile[] {
  const names = new Set(files.map(({ name }) => name));
  const selected = new Set<string>();
  const missing: string[] = [];
  for (const text of wanted) {
    const found = names.has(text) ? [text] : matching(names, text);
    if (found.length === 0) missing.push(text);
    for (const name of found) selected.add(name);
  }
  if (missing.length > 0) throw nothingOf(missing, names);
  return files.filter(({ name }) => selected.has(name));
}

function matching(names: ReadonlySet<string>, pattern: string): readonly string[] {
  if (pattern === '' || pattern.length > longestPattern) return [];
  // Names that begin with a dot are never listed, and a name has no folders.
  const matches = picomatch(pattern, { dot: true, nonegate: true });
  return [...names].filter((name) => matches(name));
}

function nothingOf(missing: readonly string[], names: ReadonlySet<string>): ClientError {
  const named = missing.slice(0, shown).map((text) => JSON.stringify(printable(text)));
  const more = missing.length > shown ? ` and ${missing.length - shown} more` : '';
  const close = missing.flatMap((text) => [...names].filter((name) => text !== '' && name.includes(text)))[0];
  const remedy =
    names.size === 0
      ? 'Your outbox is empty: ask whoever decides about access for an export.'
      : close === undefined
        ? 'data-out list shows the names; put patterns in quotes.'
        : `Did you mean ${printable(close)}? data-out list shows the names; put patterns in quotes.`;
  return new ClientError('not_found', `your outbox has no file that matches ${named.join(', ')}${more}`, { remedy });
}
