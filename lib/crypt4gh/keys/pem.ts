import { UnusableKeyError } from '../errors.ts';

/** Characters of a key file beyond which it is not read; real ones have a few hundred. */
const maximumTextLength = 65_536;

/** One PEM block. */
export interface PemBlock {
  readonly label: string;
  readonly bytes: Buffer;
}

/** A key file as text, without white space around it. @throws UnusableKeyError when it is far too long. */
export function keyText(input: string | Uint8Array): string {
  if (input.length > maximumTextLength) {
    throw new UnusableKeyError('invalid-key-format', 'this is too long to be a key');
  }
  return (typeof input === 'string' ? input : Buffer.from(input).toString('utf8')).trim();
}

/** Whether the text claims to be PEM. */
export function looksLikePem(text: string): boolean {
  return text.startsWith('-----BEGIN');
}

/**
 * Reads one PEM block (RFC 7468, lax): line breaks anywhere or nowhere, CRLF, blank lines, no final newline.
 *
 * @throws UnusableKeyError `invalid-key-format`
 */
export function parsePem(text: string): PemBlock {
  const match = /^-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----$/.exec(text);
  const [, label, content] = match ?? [];
  const bytes = content === undefined ? undefined : decodeBase64(content);
  if (label === undefined || bytes === undefined) {
    throw new UnusableKeyError('invalid-key-format', 'expected one PEM block: BEGIN line, base64, END line');
  }
  return { label, bytes };
}

export function formatPem(label: string, bytes: Uint8Array): string {
  return `-----BEGIN ${label}-----\n${Buffer.from(bytes).toString('base64')}\n-----END ${label}-----\n`;
}

/** Bytes of base64 with white space anywhere and padding optional; `undefined` when it is not base64. */
export function decodeBase64(text: string): Buffer | undefined {
  const [, digits, padding] = /^([A-Za-z0-9+/]*)(={0,2})$/.exec(text.replace(/\s+/g, '')) ?? [];
  if (digits === undefined || padding === undefined || digits.length % 4 === 1) return undefined;
  if (padding !== '' && (digits.length + padding.length) % 4 !== 0) return undefined;
  return Buffer.from(digits, 'base64');
}
