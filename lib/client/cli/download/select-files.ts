import picomatch from 'picomatch';
import { isReceiptName } from '../../../contract/delivery.ts';
import { printable } from '../../../terminal/output.ts';
import type { ListedFile } from '../../api/delivery-api.ts';
import { ClientError } from '../../api/errors.ts';
import type { Claims } from '../../api/receipts/claims.ts';

/** The most names that an error shows. */
const shown = 5;
const fileId = /^EGAF\d+$/;
/** The matcher refuses longer patterns. No name is that long. */
const longestPattern = 65_536;

/**
 * The files that names and patterns select, each once, in the order of the listing. A listed name selects that file, whatever
 * characters it has, and a file id selects its file. Any other text is a pattern, such as `EGAF0001*` or `*.{bam,cram}.c4gh`.
 * Upper and lower case differ.
 * @throws ClientError `not_found` when a name or pattern selects no file
 */
export function selectFiles<File extends { readonly name: string }>(
  files: readonly File[],
  wanted: readonly string[],
): readonly File[] {
  const names = new Set(files.map(({ name }) => name));
  const selected = new Set<string>();
  const missing: string[] = [];
  for (const text of wanted) {
    const found = names.has(text) ? [text] : [...names].filter(fileId.test(text) ? isOfFile(text) : matches(text));
    if (found.length === 0) missing.push(text);
    for (const name of found) selected.add(name);
  }
  if (missing.length > 0) throw nothingOf(missing, names);
  return files.filter(({ name }) => selected.has(name));
}

/** Files whose receipt is of the dataset. @throws ClientError `not_found` if there is none */
export function ofDataset(files: readonly ListedFile[], claims: Claims, dataset: string): readonly ListedFile[] {
  const found = files.filter(({ name }) => claims.of(name)?.receipt.dataset === dataset);
  if (found.length > 0) return found;
  throw new ClientError('not_found', `no delivery receipt names a file of ${JSON.stringify(printable(dataset))}`, {
    remedy: 'The dataset of a file comes from its receipt, which is listed last. data-out list shows all files.',
  });
}

function isOfFile(id: string) {
  return (name: string) => !isReceiptName(name) && name.startsWith(id) && /^[-.]/.test(name.slice(id.length));
}

function matches(pattern: string): (name: string) => boolean {
  if (pattern === '' || pattern.length > longestPattern) return () => false;
  // The service lists no name that begins with a dot or contains a folder.
  const matcher = picomatch(pattern, { dot: true, nonegate: true });
  return (name) => matcher(name);
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
