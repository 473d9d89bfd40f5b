import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import {
  decryptedSize,
  ENCRYPTED_SEGMENT_BYTES,
  editedSize,
  headerLength,
  NoMatchingKeyError,
  type OpenedHeader,
  openHeader,
  splitContainer,
} from '../../../crypt4gh/index.ts';
import { counted, formatBytes, formatFacts } from '../../../terminal/output.ts';
import { openInput } from '../files/input.ts';
import { type PrivateKeyFile, PrivateKeys, readPrivateKeys } from '../key-files.ts';
import { withKeyOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const afterHelp = `
The body is neither decrypted nor checked. Without a key, only the unencrypted parts of the header are shown.

Examples:
  data-out inspect sample.bam.c4gh
  data-out inspect --key me.sec.pem --key old.sec.pem sample.bam.c4gh
  curl -s https://... | data-out inspect --key me.sec.pem -`;

export function registerInspect(program: Command, context: CommandContext): void {
  withKeyOptions(program.command('inspect'))
    .description('show a Crypt4GH header, and which of your keys opens it')
    .argument('[file]', 'the container', '-')
    .addHelpText('after', afterHelp)
    .action(async (file, _options, command) => {
      await using session = await openSession(context, command);
      await using input = await openInput(file, session.terminal);
      const { header, body } = await splitContainer(input.stream());
      await body.return?.();
      const bodySize = input.size === undefined ? undefined : input.size - header.length;
      using keys = session.settings.keyFiles.length > 0 ? await readPrivateKeys(session) : new PrivateKeys();
      const found = inspect(file, header, bodySize, keys.files);
      session.output.result(found, describe(found));
    });
}

/** What `inspect` shows. Sizes in bytes. `null`: not known, because the input is a pipe or no key opens the header. */
function inspect(file: string, header: Uint8Array, bodySize: number | undefined, keys: readonly PrivateKeyFile[]) {
  const opened = keys.flatMap(({ path, privateKey }) => {
    const result = tryOpen(header, [privateKey]);
    return result instanceof NoMatchingKeyError ? [] : [{ path, ...result }];
  });
  const [first] = opened;
  const closed = tryOpen(header, []);
  const plaintext = bodySize === undefined ? null : decryptedSize(bodySize);
  for (const { dataKeys } of opened) for (const key of dataKeys) key.fill(0);
  return {
    file,
    headerBytes: headerLength(header) ?? header.length,
    packets: closed.packetCount,
    // One reader can have several packets.
    recipientsAtMost: closed instanceof NoMatchingKeyError ? closed.recipientCount : null,
    bodyBytes: bodySize ?? null,
    segments: bodySize === undefined ? null : Math.ceil(bodySize / ENCRYPTED_SEGMENT_BYTES),
    plaintextBytes: plaintext,
    keysTried: keys.length,
    opensWith: opened.map(({ path }) => path),
    dataKeys: first?.dataKeys.length ?? null,
    // Lengths to skip and to keep in turn, in decimal, because a JSON number is too small for some.
    editList: first?.editList?.map(String) ?? null,
    visibleBytes: first === undefined || plaintext === null ? null : editedSize(plaintext, first.editList ?? []),
  };
}

function tryOpen(header: Uint8Array, privateKeys: readonly Uint8Array[]): OpenedHeader | NoMatchingKeyError {
  try {
    return openHeader(header, privateKeys);
  } catch (error) {
    if (error instanceof NoMatchingKeyError) return error;
    throw error;
  }
}

function describe(found: ReturnType<typeof inspect>): string {
  const { editList, opensWith, keysTried, segments, recipientsAtMost } = found;
  const size = (bytes: number | null) =>
    bytes === null ? 'not known' : bytes < 1024 ? `${bytes} B` : `${bytes} B (${formatBytes(bytes)})`;
  const readers = recipientsAtMost === null ? '' : `, for at most ${counted(recipientsAtMost, 'reader')}`;
  const tried = keysTried === 0 ? 'no key was given; try one with --key FILE' : undefined;
  const none = `none of the ${counted(keysTried, 'key')} given`;
  const opens = found.dataKeys !== null;
  const facts = [
    ['File:', found.file === '-' ? 'standard input' : found.file],
    ['Header:', `${size(found.headerBytes)}, ${counted(found.packets, 'packet')}${readers}`],
    ['Body:', `${size(found.bodyBytes)}${segments === null ? '' : `, ${counted(segments, 'segment')}`}`],
    ['Plaintext:', size(found.plaintextBytes)],
    ['Opens with:', tried ?? (opensWith.join(', ') || none)],
    ['Data keys:', found.dataKeys?.toString()],
    ['Edit list:', opens ? describeEditList(editList) : null],
    ['Visible:', editList && size(found.visibleBytes)],
  ] as const;
  return formatFacts(facts, 12);
}

function describeEditList(lengths: readonly string[] | null): string {
  if (lengths === null) return 'none';
  const shown = lengths.slice(0, 20).map((length, index) => `${index % 2 === 0 ? 'skip' : 'keep'} ${length}`);
  const more = lengths.length > shown.length ? `, and ${lengths.length - shown.length} more` : '';
  const end = lengths.length % 2 === 1 ? ', then all' : '';
  return `${shown.join(', ')}${more}${end}`;
}
