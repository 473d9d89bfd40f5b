import { looksLikePrivateKey } from '../../crypt4gh/index.ts';

/** Which of the files that people confuse a file is, by its content; `undefined` for any other. */
export function fileKind(content: string | Uint8Array) {
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
