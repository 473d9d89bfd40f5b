import { receiptSuffix } from '../../contract/delivery.ts';

const uuidLength = 36;
/** Only files have such an id, and no dataset. */
const fileId = /^EGAF\d+$/;

/** The request id in the name of a receipt. */
export function requestOf(name: string): string {
  return name.slice(0, -receiptSuffix.length).slice(-uuidLength);
}

/**
 * Whether a receipt can name one of the files, by its own name alone. The receipt of a single file, whose name begins with the
 * id of that file, names no other; the receipt of a dataset can name any. Names and metadata of containers prove nothing here:
 * whoever can change a container can also change them.
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
