import { receiptSuffix } from '../../contract/delivery.ts';

const uuidLength = 36;
/** Such an id is a file's: no dataset has one. */
const fileId = /^EGAF\d+$/;

/** The request id in the name of a receipt. */
export function requestOf(name: string): string {
  return name.slice(0, -receiptSuffix.length).slice(-uuidLength);
}

/**
 * Whether a receipt may name one of the files, by its own name alone. The receipt of a single file, whose name begins with the
 * id of that file, names no other; that of a dataset may name any. Names and metadata of containers say nothing here: whoever
 * can change a container can change them, too.
 *
 * @param files by their names in the outbox
 * @returns takes the name of a receipt
 */
export function namingOneOf(files: Iterable<{ readonly name: string }>): (receipt: string) => boolean {
  const ids = new Set(Array.from(files, ({ name }) => name.replace(/(?:-.*|\.c4gh)$/s, '')));
  return (receipt) => {
    const id = receipt.slice(0, -(1 + uuidLength + receiptSuffix.length));
    return !fileId.test(id) || ids.has(id);
  };
}
