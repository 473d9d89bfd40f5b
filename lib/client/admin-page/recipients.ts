import type { ListedExport } from '../../contract/export-state.ts';

/** Where labels are kept: a part of the browser's `Storage`. */
export type LabelStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

type Searched = Pick<ListedExport, 'requestId' | 'dataset' | 'file' | 'recipient'>;

const prefix = 'data-out recipient ';

/**
 * Names that an administrator gives to recipients, whom the service knows as hashes alone. They stay in this browser. A browser
 * that keeps nothing for this page has none.
 */
export function recipientLabels(store: LabelStore | undefined) {
  /** Empty: there is none. */
  const labelOf = (recipient: string | null) => (recipient !== null && store?.getItem(prefix + recipient)) || '';
  return {
    /** Whether labels can be kept here. */
    isKept: store !== undefined,

    of: labelOf,

    /** An empty label removes the old one. */
    set(recipient: string, label: string): void {
      if (label.trim() === '') store?.removeItem(prefix + recipient);
      else store?.setItem(prefix + recipient, label.trim());
    },

    /** Whether an id, the recipient, or the recipient's label has these words in it, in any case. */
    matches({ requestId, dataset, file, recipient }: Searched, words: string): boolean {
      const sought = words.toLowerCase();
      const texts = [requestId, dataset, file, recipient, labelOf(recipient)];
      return texts.some((text) => text?.toLowerCase().includes(sought) === true);
    },
  };
}

export type RecipientLabels = ReturnType<typeof recipientLabels>;

/** The browser's own store, unless its user forbids it. */
export function browserStore(): LabelStore | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
