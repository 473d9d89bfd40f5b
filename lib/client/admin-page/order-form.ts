import { limits } from '../../contract/limits.ts';
import { looksLikePrivateKey } from '../../crypt4gh/keys/private-key-form.ts';
import type { OrderType } from '../api/order/order-rules.ts';
import { element, factList, make, showAlert } from './dom.ts';
import { type CheckedOrder, checkOrder, fieldText } from './order.ts';
import { labels } from './refusal.ts';
import { linesOf, type Service } from './service.ts';
import { relative } from './words.ts';

const privateKeyLines = [
  'This is a private key. It was removed from this page, and it was not sent.',
  'Ask the researcher for the public key: the file that ends in .pub.pem. If the researcher sent you the private key, ask for a new pair of keys: others have seen this one.',
];

/**
 * The form of a new export. It shows what will be sent before it sends. Of text and file, the last input wins: text that is typed
 * empties the choice of a file.
 */
export function orderForm(service: Service, onSent: (requestId: string) => void) {
  const id = element('id', HTMLInputElement);
  const type = element('type', HTMLSelectElement);
  const visaToken = element('visa', HTMLTextAreaElement);
  const userPublicKey = element('key', HTMLTextAreaElement);
  const fields = { id, type, visaToken, userPublicKey };
  const files = {
    visaToken: element('visa-file', HTMLInputElement),
    userPublicKey: element('key-file', HTMLInputElement),
  };
  const texts = [id, visaToken, userPublicKey];
  const alert = element('order-alert', HTMLElement);
  const summary = element('summary', HTMLElement);
  let checked: CheckedOrder | undefined;
  let isSending = false;
  /** Whether the form holds what was sent. */
  let isSent = false;
  /** The field from which a private key was removed. */
  let refused: HTMLInputElement | HTMLTextAreaElement | undefined;

  /** What was checked is no longer what the form holds. */
  const changed = () => {
    checked = undefined;
    isSent = false;
    summary.hidden = true;
    // That a private key was removed is said until something else is in its place.
    if (refused?.value !== '') {
      refused = undefined;
      showAlert(alert);
      for (const field of texts) field.removeAttribute('aria-invalid');
    }
    for (const field of texts.filter(({ value }) => looksLikePrivateKey(value))) {
      refused = field;
      for (const emptied of [field, ...Object.values(files)]) emptied.value = '';
      field.setAttribute('aria-invalid', 'true');
      field.focus();
      showAlert(alert, ...privateKeyLines);
    }
  };

  const read = async (name: keyof typeof files) => {
    const [input, field] = [files[name], fields[name]];
    const [file] = input.files ?? [];
    if (file === undefined) return;
    field.value = '';
    changed();
    const refuse = (why: string) => {
      input.value = '';
      showAlert(alert, `${file.name} ${why}.`, 'Choose the right file, or paste its text.');
    };
    // The largest file that can be right is a passport.
    if (file.size > limits.passportBytes) return refuse(`is too large: it has ${file.size} bytes`);
    const buffer = await file.arrayBuffer().catch(() => undefined);
    // Something else was typed or chosen meanwhile.
    if (input.files?.[0] !== file) return;
    if (buffer === undefined) return refuse('cannot be read');
    field.value = fieldText(new Uint8Array(buffer));
    changed();
  };

  const fileOf = (field: string) => files[field as keyof typeof files]?.files?.[0]?.name;

  const check = async () => {
    changed();
    const words = { id: id.value, visaToken: visaToken.value, userPublicKey: userPublicKey.value };
    const found = checkOrder({ ...words, type: type.value === 'fileId' ? 'fileId' : 'datasetId' }, new Date());
    if ('faults' in found) {
      const from = (file: string | undefined) => (file === undefined ? '' : ` from the file ${file}`);
      showAlert(
        alert,
        ...found.faults.map(({ field, message }) => `${labels[field]}${from(fileOf(field))}: ${message}`),
      );
      for (const { field } of found.faults) fields[field].setAttribute('aria-invalid', 'true');
      fields[found.faults[0]?.field ?? 'id'].focus();
      return;
    }
    checked = found;
    const sources = Object.keys(files).map((field) => fileOf(field) ?? 'pasted text');
    const facts = await factsOf(found, sources, new Date());
    if (checked !== found) return;
    element('facts', HTMLElement).replaceChildren(...facts);
    element('send', HTMLButtonElement).classList.toggle('doubted', found.doubts.length > 0);
    summary.hidden = false;
    element('summary-heading', HTMLElement).focus();
  };

  const clear = () => {
    for (const field of [...texts, ...Object.values(files)]) field.value = '';
    changed();
  };

  const send = async () => {
    const sending = checked;
    if (sending === undefined || isSending) return;
    // A disabled button would lose the focus.
    isSending = true;
    try {
      const requestId = await service.send(sending.order);
      // What was typed meanwhile has yet to be sent.
      if (checked === sending) {
        changed();
        isSent = true;
        id.focus();
      }
      onSent(requestId);
    } catch (error) {
      showAlert(alert, ...linesOf(error));
    } finally {
      isSending = false;
    }
  };

  element('form', HTMLFormElement).onsubmit = (event) => {
    event.preventDefault();
    void check();
  };
  element('send', HTMLButtonElement).onclick = () => void send();
  for (const field of [id, type]) field.oninput = changed;
  for (const name of ['visaToken', 'userPublicKey'] as const) {
    files[name].onchange = () => void read(name);
    fields[name].oninput = () => {
      files[name].value = '';
      changed();
    };
  }
  return {
    /** The service has accepted what was sent. An order that it rejects stays in the form, to be corrected. */
    accepted(): void {
      if (isSent) clear();
    },

    /** Begins another order. A visa and a key that still exist could be another person's. */
    fill(known: string, kind: OrderType): void {
      clear();
      id.value = known;
      type.value = kind;
      visaToken.focus();
    },
  };
}

/** @param sources where visa and key come from */
async function factsOf(
  { order, token, datasets, expires, doubts, publicKey }: CheckedOrder,
  [visa = '', key = '']: readonly string[],
  now: Date,
): Promise<Node[]> {
  const each = (values: readonly string[]) => [...new Set(values)].join(', ');
  // As `data-out keys show` prints it.
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(publicKey)));
  const fingerprint = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const facts = factList([
    [order.type === 'fileId' ? 'File' : 'Dataset', order.id],
    ['Visa', visa],
    ['Subject', each(token.visas.map(({ subject }) => subject))],
    ['Issuer', each(token.visas.map(({ issuer }) => issuer))],
    ['Datasets', datasets.join(', ') || 'none'],
    ['Expires', expires === undefined ? 'the visa does not say' : relative(expires, now)],
    ['Public key', key],
    ['Key fingerprint (SHA-256)', make('code', {}, fingerprint)],
  ]);
  const note = make('p', { class: 'quiet' }, `The ${token.kind} was read in your browser. It is not verified.`);
  return [facts, note, ...doubts.map((doubt) => make('p', { class: 'notice doubtful' }, `Warning: ${doubt}`))];
}
