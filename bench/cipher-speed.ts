import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Bytes per second of ChaCha20-Poly1305 in pieces as large as a segment, on one thread, as `openssl speed` measures it;
 * `undefined` without `openssl`.
 */
export async function cipherSpeed(): Promise<number | undefined> {
  const parameters = ['speed', '-seconds', '2', '-bytes', '65536', '-evp', 'chacha20-poly1305'];
  const measured = await promisify(execFile)('openssl', parameters).catch(() => undefined);
  const kilobytes = /([\d.]+)k\s*$/.exec(measured?.stdout ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_000;
}
