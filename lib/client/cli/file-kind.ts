import { looksLikePrivateKey } from '../../crypt4gh/index.ts';

/** The files that people confuse. */
export type FileKind =
  | 'a private key'
  | 'a public key'
  | 'a visa or another token'
  | 'a Crypt4GH file'
  | 'a web page'
  | 'a Word or ZIP file'
  | 'a PDF file';

/** Which of these a file is, by its content; `undefined` for any other. */
export function fileKind(content: string | Uint8Array): FileKind | undefined {
  const text = (typeof content === 'string' ? content : Buffer.from(content).toString('latin1')).trim();
  if (looksLikePrivateKey(text)) return 'a private key';
  if (/-----BEGIN [A-Z0-9 ]*PUBLIC KEY-----|^ssh-[a-z0-9]+\s/.test(text)) return 'a public key';
  // A JWS in compact form: its header is a JSON object in base64url.
  if (/^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(text)) return 'a visa or another token';
  if (/^<(?:!doctype|html|\?xml)/i.test(text)) return 'a web page';
  if (text.startsWith('PK\x03\x04')) return 'a Word or ZIP file';
  if (text.startsWith('%PDF')) return 'a PDF file';
  return text.startsWith('crypt4gh') ? 'a Crypt4GH file' : undefined;
}
