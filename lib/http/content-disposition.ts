import { safeFileName } from '../contract/file-name.ts';

/**
 * `Content-Disposition` under which a browser saves a file (RFC 6266 § 4.3). A name outside ASCII has the extended form of
 * RFC 8187 beside a plain one, for clients that do not know the first.
 *
 * @param fileName untrusted text, made safe as `safeFileName` does
 */
export function attachment(fileName: string): string {
  const name = safeFileName(fileName);
  const plain = name.replace(/[^\x20-\x7e]|%/gu, '_');
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${extended(name)}`}`;
}

/** RFC 8187 § 3.2.1: `attr-char` leaves out four characters that `encodeURIComponent` keeps. */
function extended(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
