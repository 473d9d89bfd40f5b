import { limits } from '../contract/limits.ts';

/**
 * `Content-Disposition` under which a browser saves a file (RFC 6266 § 4.3): with what is not ASCII in the extended form
 * of RFC 8187, beside a plain one for who does not know it.
 *
 * @param fileName untrusted text; of a long one the end is used, which has its extensions
 */
export function attachment(fileName: string): string {
  // Control and format characters could end the header, or make one name look like another.
  const name = [...fileName.toWellFormed().replace(/[\p{Cc}\p{Cf}]/gu, '')].slice(-limits.fileNameLength).join('');
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/gu, '_');
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${extended(name)}`}`;
}

/** RFC 8187 § 3.2.1: `attr-char` leaves out four characters that `encodeURIComponent` keeps. */
function extended(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
