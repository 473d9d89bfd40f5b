import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DeliveredFile, DeliveryReceipt, MissingFile } from '../../../contract/delivery.ts';
import { deliveredFile, malformed, missingFile, parseReceipt } from './receipt.ts';

/** The files of a receipt. An array also fits. */
export interface ReceiptFiles extends Iterable<DeliveredFile> {
  readonly length: number;
  at(index: number): DeliveredFile | undefined;
}

/** A receipt as the client holds it. */
export type Receipt = Omit<DeliveryReceipt, 'files'> & { readonly files: ReceiptFiles };

/** Files that are packed together. */
const blockRows = 256;
/** Bytes of the largest element of a list: paths and names have less than 2 KiB. */
const longestElement = 64 * 1024;
/** Bytes of all that is not in an element; each element adds two. */
const longestRest = 16 * 1024 * 1024;

/** Files in compressed blocks: a million take some 100 MB, and as objects ten times that. */
export class PackedFiles implements ReceiptFiles {
  readonly #blocks: Uint8Array[] = [];
  #open: string[] = [];
  #unpacked: { readonly block: number; readonly lines: readonly string[] } | undefined;

  get length(): number {
    return this.#blocks.length * blockRows + this.#open.length;
  }

  add(file: DeliveredFile): void {
    this.#open.push(JSON.stringify(file));
    if (this.#open.length < blockRows) return;
    const packed = deflateRawSync(this.#open.join('\n'), { level: 1 });
    // Copied: zlib gives a part of a larger buffer.
    this.#blocks.push(new Uint8Array(packed));
    this.#open = [];
  }

  at(index: number): DeliveredFile | undefined {
    const block = Math.floor(index / blockRows);
    const line = this.#lines(block)[index % blockRows];
    return line === undefined ? undefined : (JSON.parse(line) as DeliveredFile);
  }

  *[Symbol.iterator](): Generator<DeliveredFile, void, undefined> {
    for (let block = 0; block <= this.#blocks.length; block += 1) {
      for (const line of this.#lines(block)) yield JSON.parse(line) as DeliveredFile;
    }
  }

  /** The block that was unpacked last is kept: names and files have the same order nearly everywhere. */
  #lines(block: number): readonly string[] {
    const packed = this.#blocks[block];
    if (packed === undefined) return block === this.#blocks.length ? this.#open : [];
    if (this.#unpacked?.block !== block) {
      this.#unpacked = { block, lines: inflateRawSync(packed).toString('utf8').split('\n') };
    }
    return this.#unpacked?.lines ?? [];
  }
}

const zero = Buffer.from('0');
const [quote, backslash, openList, closeList, openObject, closeObject] = [...Buffer.from('"\\[]{}')];

/**
 * Reads the JSON of a receipt in pieces. The objects in its lists are parsed one by one, so that memory does not grow with the text.
 */
export class ReceiptReader {
  readonly #files = new PackedFiles();
  readonly #names = new Set<string>();
  readonly #missing: MissingFile[] = [];
  /** The text, with `0` instead of each object in a list of the outermost object. */
  #rest = Buffer.alloc(4096);
  #restBytes = 0;
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The last text in the outermost object: the name of the list that begins. */
  #name: number[] = [];
  /** Whether the last value of the outermost object is a list. */
  #isList = false;
  /** The beginning of an object that continues in the next piece. */
  #element: Buffer[] | undefined;
  #elementBytes = 0;

  /** @throws ReceiptError */
  push(bytes: Buffer): void {
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isText = false;
        if (this.#isText && this.#depth === 1 && this.#name.length <= 'missing'.length) this.#name.push(byte);
      } else if (byte === quote) {
        this.#isText = true;
        if (this.#depth === 1) this.#name = [];
      } else if (byte === openObject || byte === openList) {
        if (this.#depth === 2 && byte === openObject && this.#isList) {
          this.#keep(bytes.subarray(from, at));
          from = at;
          this.#element = [];
        } else if (this.#depth === 1) this.#isList = byte === openList;
        this.#depth += 1;
      } else if (byte === closeObject || byte === closeList) {
        this.#depth -= 1;
        if (this.#depth === 2 && this.#element) {
          this.#take(bytes.subarray(from, at + 1));
          from = at + 1;
        }
      }
    }
    if (this.#element) this.#hold(bytes.subarray(from));
    else this.#keep(bytes.subarray(from));
  }

  /** @throws ReceiptError */
  end(): Receipt {
    let rest: unknown;
    try {
      rest = JSON.parse(this.#rest.toString('utf8', 0, this.#restBytes));
    } catch {
      throw malformed('it is not JSON');
    }
    return parseReceipt(rest, this.#files, this.#missing);
  }

  #keep(bytes: Uint8Array): void {
    const end = this.#restBytes + bytes.length;
    if (end > longestRest) throw malformed('it has too much beside its files');
    if (end > this.#rest.length) this.#rest = Buffer.concat([this.#rest], 2 * end);
    this.#rest.set(bytes, this.#restBytes);
    this.#restBytes = end;
  }

  #hold(bytes: Buffer): void {
    this.#elementBytes += bytes.length;
    if (this.#elementBytes > longestElement) throw malformed('an element of a list is too long');
    // Copied: the piece that it is cut from would stay in memory.
    this.#element?.push(Buffer.from(bytes));
  }

  #take(end: Buffer): void {
    if (this.#elementBytes > 0) this.#hold(end);
    const text = (this.#elementBytes > 0 ? Buffer.concat(this.#element ?? []) : end).toString('utf8');
    if (text.length > longestElement) throw malformed('an element of a list is too long');
    this.#element = undefined;
    this.#elementBytes = 0;
    this.#keep(zero);
    const name = String.fromCharCode(...this.#name);
    if (name === 'files') {
      const file = deliveredFile(parsed(text));
      if (this.#names.has(file.name)) throw malformed('it lists a name twice');
      this.#names.add(file.name);
      this.#files.add(file);
    } else if (name === 'missing') this.#missing.push(missingFile(parsed(text)));
    else parsed(text);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed('it is not JSON');
  }
}
