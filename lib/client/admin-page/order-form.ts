import { limits } from '../../contract/limits.ts';
import { looksLikePrivateKey } from '../../crypt4gh/keys/private-key-form.ts';
import type { OrderType } from '../api/order/order-rules.ts';
import { element, factList, make, showAlert } from './dom.ts';
import { type CheckedOrder, checkOrder, type OrderFault } from './order.ts';
import { RefusedError, type Service } from './service.ts';
import { relative } from './words.ts';

const privateKeyLines = [
  'This is a private key. It was removed from this page, and it was not sent.',
  'Ask the researcher for the public key: the file that ends in .pub.pem. If the researcher sent you the private key, ask for a new pair of keys: others have seen this one.',
];

/** The form of a new export. It shows what will be sent before it sends. */
export class OrderForm {
  readonly #service: Service;
  readonly #onSent: (requestId: string) => void;
  readonly #id = element('id', HTMLInputElement);
  readonly #type = element('type', HTMLSelectElement);
  readonly #visa = element('visa', HTMLTextAreaElement);
  readonly #key = element('key', HTMLTextAreaElement);
  readonly #visaFile = element('visa-file', HTMLInputElement);
  readonly #keyFile = element('key-file', HTMLInputElement);
  readonly #alert = element('order-alert', HTMLElement);
  readonly #summary = element('summary', HTMLElement);
  readonly #texts = [this.#id, this.#visa, this.#key];
  #checked: CheckedOrder | undefined;
  #isSending = false;
  /** The field from which a private key was removed. */
  #refused: HTMLInputElement | HTMLTextAreaElement | undefined;

  constructor(service: Service, onSent: (requestId: string) => void) {
    this.#service = service;
    this.#onSent = onSent;
    element('form', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#check();
    });
    element('send', HTMLButtonElement).addEventListener('click', () => void this.#sendOrder());
    for (const field of [this.#id, this.#type, this.#visa, this.#key]) {
      field.addEventListener('input', () => this.#changed());
    }
    this.#visaFile.addEventListener('change', () => void this.#read(this.#visaFile, this.#visa));
    this.#keyFile.addEventListener('change', () => void this.#read(this.#keyFile, this.#key));
  }

  /** Begins another order. A visa and a key that are still here could be another person's. */
  fill(id: string, type: OrderType): void {
    this.#clear();
    this.#id.value = id;
    this.#type.value = type;
    this.#visa.focus();
  }

  /** What was checked is no longer what the form holds. */
  #changed(): void {
    this.#checked = undefined;
    this.#summary.hidden = true;
    // That a private key was removed is said until something else stands in its place.
    if (this.#refused?.value !== '') {
      this.#refused = undefined;
      showAlert(this.#alert);
      for (const field of this.#texts) field.removeAttribute('aria-invalid');
    }
    for (const field of this.#texts) if (looksLikePrivateKey(field.value)) this.#refusePrivateKey(field);
  }

  #refusePrivateKey(field: HTMLInputElement | HTMLTextAreaElement): void {
    this.#refused = field;
    field.value = '';
    this.#visaFile.value = '';
    this.#keyFile.value = '';
    field.setAttribute('aria-invalid', 'true');
    field.focus();
    showAlert(this.#alert, ...privateKeyLines);
  }

  async #read(input: HTMLInputElement, field: HTMLTextAreaElement): Promise<void> {
    const [file] = input.files ?? [];
    if (file === undefined) return;
    field.value = '';
    this.#changed();
    // The largest file that can be right is a passport.
    if (file.size > limits.passportBytes) {
      input.value = '';
      showAlert(this.#alert, `${file.name} is too large: it has ${file.size} bytes.`, 'Choose the right file.');
      return;
    }
    const bytes = await file.arrayBuffer().then(
      (buffer) => new Uint8Array(buffer),
      () => undefined,
    );
    if (bytes === undefined) {
      showAlert(this.#alert, `${file.name} cannot be read.`, 'Choose it again, or paste what it holds.');
      return;
    }
    // A key of 32 bytes is no text.
    field.value = bytes.length === 32 ? btoa(String.fromCharCode(...bytes)) : new TextDecoder().decode(bytes);
    this.#changed();
  }

  async #check(): Promise<void> {
    this.#changed();
    const words = {
      id: this.#id.value,
      type: this.#type.value === 'fileId' ? ('fileId' as const) : ('datasetId' as const),
      visa: this.#visa.value,
      publicKey: this.#key.value,
    };
    const checked = checkOrder(words, new Date());
    if ('faults' in checked) {
      this.#showFaults(checked.faults);
      return;
    }
    this.#checked = checked;
    const facts = await factsOf(checked, new Date());
    if (this.#checked !== checked) return;
    element('facts', HTMLElement).replaceChildren(...facts);
    element('send', HTMLButtonElement).classList.toggle('doubted', checked.doubts.length > 0);
    this.#summary.hidden = false;
    element('summary-heading', HTMLElement).focus();
  }

  #showFaults(faults: readonly OrderFault[]): void {
    const fields = { id: this.#id, type: this.#type, visa: this.#visa, publicKey: this.#key };
    for (const { field } of faults) fields[field].setAttribute('aria-invalid', 'true');
    showAlert(this.#alert, ...faults.map(({ message }) => message));
    const [first] = faults;
    if (first) fields[first.field].focus();
  }

  #clear(): void {
    for (const field of [...this.#texts, this.#visaFile, this.#keyFile]) field.value = '';
    this.#changed();
    this.#id.focus();
  }

  async #sendOrder(): Promise<void> {
    const checked = this.#checked;
    if (checked === undefined || this.#isSending) return;
    // A disabled button would lose the focus.
    this.#isSending = true;
    try {
      const requestId = await this.#service.send(checked.order);
      // What was typed meanwhile stays.
      if (this.#checked === checked) this.#clear();
      this.#onSent(requestId);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const { what, violations, remedy } = error.refusal;
      showAlert(this.#alert, what, ...violations, remedy);
    } finally {
      this.#isSending = false;
    }
  }
}

async function factsOf(
  { order, token, datasets, expires, doubts, publicKey }: CheckedOrder,
  now: Date,
): Promise<Node[]> {
  const each = (values: readonly string[]) => [...new Set(values)].join(', ');
  const warnings = doubts.map((doubt) => make('p', { class: 'notice doubtful' }, `Warning: ${doubt}`));
  return [
    factList([
      [order.type === 'fileId' ? 'File' : 'Dataset', order.id],
      ['Subject', each(token.visas.map(({ subject }) => subject))],
      ['Issuer', each(token.visas.map(({ issuer }) => issuer))],
      ['Datasets', datasets.join(', ') || 'none'],
      ['Expires', expires === undefined ? 'the visa does not say' : relative(expires, now)],
      ['Key fingerprint (SHA-256)', make('code', {}, await fingerprintOf(publicKey))],
    ]),
    make('p', { class: 'quiet' }, `The ${token.kind} was read in your browser. It is not verified.`),
    ...warnings,
  ];
}

/** As `data-out keys show` prints it. */
async function fingerprintOf(publicKey: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(publicKey));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
