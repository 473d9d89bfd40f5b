import { resolve } from 'node:path';
import { fileSource, headerLimits, type RandomAccessSource, splitContainer } from '../../../crypt4gh/index.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { readSmallFile } from '../secrets.ts';
import { type Input, openInput } from './input.ts';
import { joined, joinedSource } from './streams.ts';

/** A container that a command reads: one file, a pipe, or a body with a separate header file. */
export interface ContainerInput extends AsyncDisposable {
  readonly input: Input;
  /** The header, if it is in a separate file. */
  readonly header: Uint8Array | undefined;
  /** Header and body, from the start. */
  stream(): AsyncIterable<Uint8Array>;
  /** Header and body, read by position; `undefined` for pipes. */
  source(): Promise<RandomAccessSource | undefined>;
}

/** Opens a container. @param headerFile the header, if `name` is the body alone */
export async function openContainerInput(
  name: string,
  headerFile: string | undefined,
  terminal: Terminal,
): Promise<ContainerInput> {
  const header = headerFile === undefined ? undefined : await readHeaderFile(headerFile, terminal);
  const input = await openInput(name, terminal);
  return {
    input,
    header,
    stream: () => (header === undefined ? input.stream() : joined(header, input.stream())),
    async source() {
      if (input.handle === undefined) return undefined;
      const source = await fileSource(input.handle);
      return header === undefined ? source : joinedSource(header, source);
    },
    [Symbol.asyncDispose]: () => input[Symbol.asyncDispose](),
  };
}

/** The header alone: bytes after it in its file are not the start of the body. */
async function readHeaderFile(file: string, { folder }: Terminal): Promise<Uint8Array> {
  const bytes = await readSmallFile('--header', resolve(folder, file), headerLimits.bytes);
  return (await splitContainer([bytes])).header;
}
