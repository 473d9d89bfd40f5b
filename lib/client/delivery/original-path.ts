import { isReceiptName } from '../../contract/delivery.ts';
import { safeFileName } from '../../contract/file-name.ts';
import { plaintextName } from '../download/disk/local-name.ts';

/**
 * Where a file lies in a folder under the path that its submitter gave it, as segments: a relative path that never leaves the
 * folder. Each segment becomes a name that every system can save.
 *
 * @param submitted untrusted text, as a receipt has it
 * @param form that is kept: the container, which ends in `.c4gh`, or its plaintext
 * @returns `undefined` if the path has no name
 */
export function originalPath(submitted: string, form: 'container' | 'plaintext'): readonly string[] | undefined {
  const segments = submitted.split(/[/\\]/).filter((segment) => segment !== '' && segment !== '.');
  const last = segments.pop();
  if (last === undefined) return undefined;
  const plain = plaintextName(last);
  const name = safeFileName(form === 'plaintext' ? plain : `${plain}.c4gh`);
  // Only receipts have such names.
  return [...segments.map(safeFileName), isReceiptName(name) ? `${name}_` : name];
}
