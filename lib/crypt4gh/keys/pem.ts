import { UnusableKeyError } from '../errors.ts';

/** Most characters of a key file; real ones have a few hundred. */
const maximumTextLength = 65_536;

/** One PEM block. */
export interface PemBlock {
  readonly label: string;
  readonly bytes: Uint8Array;
}

/** A key file as text, without white space around it. */
export function keyText(input: string | Uint8Array): string {
  if (input.length > maximumTextLength) {
    throw new UnusableKeyError('invalid-key-format', 'this is too long to be a key');
  }
  return (typeof input === 'string' ? input : new TextDecoder().decode(input)).trim();
}

/** Whether the text claims to be PEM. */
export function looksLikePem(text: string): boolean {
  return text.startsWith('-----BEGIN');
}

/**
 * Reads one PEM block (RFC 7468). It accepts line breaks at any place or none, CRLF, blank lines and a missing final newline.
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
  return `-----BEGIN ${label}-----\n${btoa(latin1(bytes))}\n-----END ${label}-----\n`;
}

/** Decodes base64 with optional white space and padding; `undefined` if it is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const [, digits, padding] = /^([A-Za-z0-9+/]*)(={0,2})$/.exec(text.replace(/\s+/g, '')) ?? [];
  if (digits === undefined || padding === undefined || digits.length % 4 === 1) return undefined;
  if (padding !== '' && (digits.length + padding.length) % 4 !== 0) return undefined;
  return Uint8Array.from(atob(digits), (character) => character.charCodeAt(0));
}

/** One character for each byte, with the byte as its code. */
export function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}
