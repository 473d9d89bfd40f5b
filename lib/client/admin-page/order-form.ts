import { limits } from '../../contract/limits.ts';
import { looksLikePrivateKey } from '../../crypt4gh/keys/private-key-form.ts';
import type { OrderType } from '../api/order/order-rules.ts';
import { element, factList, make, showAlert } from './dom.ts';
import { type CheckedOrder, checkOrder } from './order.ts';
import { RefusedError, type Service } from './service.ts';
import { relative } from './words.ts';

const privateKeyLines = [
  'This is a private key. It was removed from this page, and it was not sent.',
  'Ask the researcher for the public key: the file that ends in .pub.pem. If the researcher sent you the private key, ask for a new pair of keys: others have seen this one.',
];

/**
 * The form of a new export. It shows what will be sent before it sends.
 * @returns `fill` begins another order. A visa and a key that still exist could be another person's
 */
export function orderForm(service: Service, onSent: (requestId: string) => void) {
  const fields = {
    id: element('id', HTMLInputElement),
    type: element('type', HTMLSelectElement),
    visa: element('visa', HTMLTextAreaElement),
    publicKey: element('key', HTMLTextAreaElement),
  };
  const { id, type, visa, publicKey } = fields;
  const texts = [id, visa, publicKey];
  const visaFile = element('visa-file', HTMLInputElement);
  const keyFile = element('key-file', HTMLInputElement);
  const alert = element('order-alert', HTMLElement);
  const summary = element('summary', HTMLElement);
  let checked: CheckedOrder | undefined;
  let isSending = false;
  /** The field from which a private key was removed. */
  let refused: HTMLInputElement | HTMLTextAreaElement | undefined;

  /** What was checked is no longer what the form holds. */
  const changed = () => {
    checked = undefined;
    summary.hidden = true;
    // That a private key was removed is said until something else stands in its place.
    if (refused?.value !== '') {
      refused = undefined;
      showAlert(alert);
      for (const field of texts) field.removeAttribute('aria-invalid');
    }
    for (const field of texts) if (looksLikePrivateKey(field.value)) refusePrivateKey(field);
  };

  const refusePrivateKey = (field: HTMLInputElement | HTMLTextAreaElement) => {
    refused = field;
    for (const emptied of [field, visaFile, keyFile]) emptied.value = '';
    field.setAttribute('aria-invalid', 'true');
    field.focus();
    showAlert(alert, ...privateKeyLines);
  };

  const read = async (input: HTMLInputElement, field: HTMLTextAreaElement) => {
    const [file] = input.files ?? [];
    if (file === undefined) return;
    field.value = '';
    changed();
    // The largest file that can be right is a passport.
    if (file.size > limits.passportBytes) {
      input.value = '';
      showAlert(alert, `${file.name} is too large: it has ${file.size} bytes.`, 'Choose the right file.');
      return;
    }
    const buffer = await file.arrayBuffer().catch(() => undefined);
    if (buffer === undefined) {
      showAlert(alert, `${file.name} cannot be read.`, 'Choose it again, or paste what it holds.');
      return;
    }
    // A key of 32 bytes is not text.
    const bytes = new Uint8Array(buffer);
    field.value = bytes.length === 32 ? btoa(String.fromCharCode(...bytes)) : new TextDecoder().decode(bytes);
    changed();
  };

  const check = async () => {
    changed();
    const isFile = type.value === 'fileId';
    const words = { id: id.value, visa: visa.value, publicKey: publicKey.value };
    const found = checkOrder({ ...words, type: isFile ? 'fileId' : 'datasetId' }, new Date());
    if ('faults' in found) {
      for (const { field } of found.faults) fields[field].setAttribute('aria-invalid', 'true');
      showAlert(alert, ...found.faults.map(({ message }) => message));
      const [first] = found.faults;
      if (first) fields[first.field].focus();
      return;
    }
    checked = found;
    const facts = await factsOf(found, new Date());
    if (checked !== found) return;
    element('facts', HTMLElement).replaceChildren(...facts);
    element('send', HTMLButtonElement).classList.toggle('doubted', found.doubts.length > 0);
    summary.hidden = false;
    element('summary-heading', HTMLElement).focus();
  };

  const clear = () => {
    for (const field of [...texts, visaFile, keyFile]) field.value = '';
    changed();
    id.focus();
  };

  const send = async () => {
    const sending = checked;
    if (sending === undefined || isSending) return;
    // A disabled button would lose the focus.
    isSending = true;
    try {
      const requestId = await service.send(sending.order);
      // What was typed meanwhile stays.
      if (checked === sending) clear();
      onSent(requestId);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const { what, violations, remedy } = error.refusal;
      showAlert(alert, what, ...violations, remedy);
    } finally {
      isSending = false;
    }
  };

  element('form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    void check();
  });
  element('send', HTMLButtonElement).addEventListener('click', () => void send());
  for (const field of Object.values(fields)) field.addEventListener('input', changed);
  visaFile.addEventListener('change', () => void read(visaFile, visa));
  keyFile.addEventListener('change', () => void read(keyFile, publicKey));
  return {
    fill(known: string, kind: OrderType): void {
      clear();
      id.value = known;
      type.value = kind;
      visa.focus();
    },
  };
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
