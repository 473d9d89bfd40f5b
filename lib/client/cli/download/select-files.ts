import picomatch from 'picomatch';
import { printable } from '../../../terminal/output.ts';
import { ClientError } from '../../api/errors.ts';
import type { ListedFile } from '../../api/proxy.ts';

/** The most names that an error shows. */
const shown = 5;
/** The matcher refuses longer patterns. No name is that long. */
const longestPattern = 65_536;

/**
 * The files that names and patterns select, each once, in the order of the listing. A listed name selects that file, whatever
 * characters it has. Any other text is a pattern, such as `EGAF0001*` or `*.{bam,cram}.c4gh`. Upper and lower case differ.
 * @throws ClientError `not_found` when a name or pattern selects no file
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
  // The service lists no name that begins with a dot or contains a folder.
  const matches = picomatch(pattern, { dot: true, nonegate: true });
  return [...names].filter((name) => matches(name));
}

function nothingOf(missing: readonly string[], names: ReadonlySet<string>): ClientError {
  const named = missing.slice(0, shown).map((text) => JSON.stringify(printable(text)));
  const more = missing.length > shown ? ` and ${missing.length - shown} more` : '';
  const close = missing.flatMap((text) => [...names].filter((name) => text !== '' && name.includes(text)))[0];
  const remedy =
    names.size === 0
      ? 'Your outbox is empty: ask the data access committee for an export.'
      : close === undefined
        ? 'data-out list shows the names; put patterns in quotes.'
        : `Did you mean ${printable(close)}? data-out list shows the names; put patterns in quotes.`;
  return new ClientError('not_found', `your outbox has no file that matches ${named.join(', ')}${more}`, { remedy });
}
