import type { ListedExport } from '../../contract/export-state.ts';

/** Where labels are kept: a part of the browser's `Storage`. */
export type LabelStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

type Searched = Pick<ListedExport, 'requestId' | 'dataset' | 'file' | 'recipient'>;

const prefix = 'data-out recipient ';

/**
 * Names that an administrator gives to recipients, whom the service knows as hashes alone. They stay in this browser. A browser
 * that keeps nothing for this page has none.
 */
export class RecipientLabels {
  readonly #store: LabelStore | undefined;

  constructor(store: LabelStore | undefined) {
    this.#store = store;
  }

  /** Whether labels can be kept here. */
  get isKept(): boolean {
    return this.#store !== undefined;
  }

  /** Empty: there is none. */
  of(recipient: string | null): string {
    return (recipient !== null && this.#store?.getItem(prefix + recipient)) || '';
  }

  /** An empty label removes the old one. */
  set(recipient: string, label: string): void {
    if (label.trim() === '') this.#store?.removeItem(prefix + recipient);
    else this.#store?.setItem(prefix + recipient, label.trim());
  }

  /** Whether an id, the recipient, or the recipient's label has these words in it, in any case. */
  matches({ requestId, dataset, file, recipient }: Searched, words: string): boolean {
    const sought = words.toLowerCase();
    return [requestId, dataset, file, recipient, this.of(recipient)].some(
      (text) => text?.toLowerCase().includes(sought) === true,
    );
  }
}

/** The browser's own store, unless its user forbids it. */
export function browserStore(): LabelStore | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
