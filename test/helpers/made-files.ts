import { createCipheriv, createHash } from 'node:crypto';

/** A file that a test makes up. */
export interface MadeFile {
  readonly path: string;
  readonly size: number;
}

const chunkBytes = 1 << 20;

/**
 * The file's bytes: pseudo-random, the same at every run, made while they are read. (The key stream of AES-256 in
 * counter mode, the key being the SHA-256 of the path: it cannot be compressed, and no two files are alike.)
 */
export async function* bytesOf({ path, size }: MadeFile): AsyncGenerator<Uint8Array> {
  const cipher = createCipheriv('aes-256-ctr', createHash('sha256').update(path).digest(), Buffer.alloc(16));
  for (let left = size; left > 0; left -= chunkBytes) yield cipher.update(Buffer.alloc(Math.min(left, chunkBytes)));
}
