import type { ListedExport } from '../../contract/export-state.ts';

const prefix = 'data-out recipient ';

/**
 * Names that an administrator gives to recipients, whom the service knows as hashes alone. They stay in this browser.
 * @param store the browser's own; `undefined`: it keeps nothing for this page, so there are no labels
 */
export function recipientLabels(store: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined) {
  /** Empty: there is none. */
  const labelOf = (recipient: string | null) => (recipient !== null && store?.getItem(prefix + recipient)) || '';
  return {
    isKept: store !== undefined,
    of: labelOf,

    /** An empty label removes the old one. */
    set(recipient: string, label: string): void {
      if (label.trim() === '') store?.removeItem(prefix + recipient);
      else store?.setItem(prefix + recipient, label.trim());
    },

    /** Whether an id, the recipient, or the recipient's label has these words in it, in any case. */
    matches(shown: Pick<ListedExport, 'requestId' | 'dataset' | 'file' | 'recipient'>, words: string): boolean {
      const { requestId, dataset, file, recipient } = shown;
      const texts = [requestId, dataset, file, recipient, labelOf(recipient)];
      return texts.some((text) => text?.toLowerCase().includes(words.toLowerCase()) === true);
    },
  };
}

export type RecipientLabels = ReturnType<typeof recipientLabels>;
