import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parsePrivateKey } from '../../lib/crypt4gh/index.ts';

/** One container of `test/vectors/manifest.json`; its README explains the fields. */
export interface ContainerVector {
  readonly id: string;
  readonly group: 'positive' | 'divergent' | 'undetectable' | 'negative' | 'peer';
  readonly files: { readonly container: string } | { readonly header: string; readonly body: string };
  readonly readers: readonly string[];
  readonly not_readers?: readonly string[];
  readonly still_readable_by?: readonly string[];
  readonly required_sender_public_key_hex?: string;
  readonly writer_public_key_hex?: string;
  readonly expected: {
    readonly outcome: 'plaintext' | 'error' | 'either';
    readonly preferred?: string;
    readonly sha256?: string;
    readonly length?: number;
    readonly category?: string;
    readonly also_accept?: readonly string[];
    readonly authentic_prefix_length?: number;
    readonly edit_list?: readonly string[];
    readonly edited?: boolean;
    readonly plaintext?: { readonly seed: string; readonly length: number };
  };
}

/** One key of `test/vectors/manifest.json`. */
export interface KeyVector {
  readonly id: string;
  readonly format: string;
  readonly passphrase: string | null;
  readonly private?: string;
  readonly public?: string;
  readonly private_key_hex?: string;
  readonly public_key_hex?: string;
  readonly expected: 'ok' | 'error' | 'either';
  readonly optional?: boolean;
  readonly category?: string;
}

export interface RangeCheck {
  readonly vector: string;
  readonly start: number;
  readonly length: number;
  readonly sha256: string;
  readonly output_length: number;
}

interface Manifest {
  readonly vectors: readonly ContainerVector[];
  readonly keys: readonly KeyVector[];
  readonly range_checks: readonly RangeCheck[];
}

const root = new URL('../vectors/', import.meta.url);

export function vectorFile(path: string): Buffer {
  return readFileSync(new URL(path, root));
}

export const manifest: Manifest = JSON.parse(vectorFile('manifest.json').toString('utf8'));

export function keyVector(id: string): KeyVector {
  const found = manifest.keys.find((key) => key.id === id);
  if (found === undefined) throw new Error(`no key vector ${id}`);
  return found;
}

const privateKeys = new Map<string, Promise<Uint8Array>>();

/** The private key of that id, from its file if the manifest does not have it: some key derivations are slow on purpose. */
export function privateKeyOf(id: string): Promise<Uint8Array> {
  const { private: path, passphrase, private_key_hex: hex } = keyVector(id);
  if (hex !== undefined) return Promise.resolve(new Uint8Array(Buffer.from(hex, 'hex')));
  if (path === undefined) throw new Error(`the key vector ${id} has no private key`);
  const key = privateKeys.get(id) ?? parsePrivateKey(vectorFile(path), passphrase ?? undefined);
  privateKeys.set(id, key);
  return key;
}

export function containerOf(vector: ContainerVector): Buffer {
  const { files } = vector;
  if ('container' in files) return vectorFile(files.container);
  return Buffer.concat([vectorFile(files.header), vectorFile(files.body)]);
}

/** The vectors' plaintext generator, `sha256-counter`. */
export function generatedPlaintext(seed: string, length: number): Buffer {
  const blocks: Buffer[] = [];
  for (let index = 0; index * 32 < length; index += 1) {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(index));
    blocks.push(createHash('sha256').update(seed).update(counter).digest());
  }
  return Buffer.concat(blocks).subarray(0, length);
}

/** The bytes in chunks of `size`, the last one shorter; with `Infinity` in one chunk. */
export function* inChunks(bytes: Uint8Array, size: number): Generator<Uint8Array, void, undefined> {
  for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size);
}

/** What an iterable gave before it ended or failed. */
export interface Outcome {
  readonly bytes: Buffer;
  readonly error: unknown;
}

export async function outcomeOf(output: AsyncIterable<Uint8Array>): Promise<Outcome> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of output) chunks.push(chunk);
    return { bytes: Buffer.concat(chunks), error: undefined };
  } catch (error) {
    return { bytes: Buffer.concat(chunks), error };
  }
}

/** The same chunks, all in one memory, as a reader of a file may give them. */
export function* inOneMemory(chunks: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  const memory = new Uint8Array(1_000_000);
  for (const chunk of chunks) {
    memory.set(chunk);
    yield memory.subarray(0, chunk.length);
    memory.fill(0);
  }
}

/** Copies of chunks that are valid only until the next one is asked for. */
export async function* copied(output: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of output) yield Uint8Array.from(chunk);
}

/** All bytes of an iterable. */
export async function collect(output: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const { bytes, error } = await outcomeOf(output);
  if (error !== undefined) throw error;
  return bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
