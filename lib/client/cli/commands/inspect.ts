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
import { counted, formatBytes, printable } from '../../../terminal/output.ts';
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

/** What `inspect` found. Sizes in bytes. `null`: not known, because the input is a pipe or no key opens the header. */
interface Inspection extends Readonly<Record<string, unknown>> {
  readonly file: string;
  readonly headerBytes: number;
  readonly packets: number;
  /** The most readers that the header can be for: one reader can have several packets. */
  readonly recipientsAtMost: number | null;
  readonly bodyBytes: number | null;
  readonly segments: number | null;
  readonly plaintextBytes: number | null;
  readonly keysTried: number;
  /** The files of the keys that open the header. */
  readonly opensWith: readonly string[];
  readonly dataKeys: number | null;
  /** Lengths to skip and to keep in turn, in decimal, because a JSON number is too small for some. */
  readonly editList: readonly string[] | null;
  /** Bytes of the plaintext after the edit list. */
  readonly visibleBytes: number | null;
}

/** `inspect [file]`. */
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
      const inspection = inspect(file, header, bodySize, keys.files);
      session.output.result(inspection, describe(inspection).join('\n'));
    });
}

function inspect(
  file: string,
  header: Uint8Array,
  bodySize: number | undefined,
  keys: readonly PrivateKeyFile[],
): Inspection {
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
    recipientsAtMost: closed instanceof NoMatchingKeyError ? closed.recipientCount : null,
    bodyBytes: bodySize ?? null,
    segments: bodySize === undefined ? null : Math.ceil(bodySize / ENCRYPTED_SEGMENT_BYTES),
    plaintextBytes: plaintext,
    keysTried: keys.length,
    opensWith: opened.map(({ path }) => path),
    dataKeys: first?.dataKeys.length ?? null,
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

function describe(found: Inspection): string[] {
  const { editList, opensWith, keysTried, segments, recipientsAtMost } = found;
  const size = (bytes: number | null) =>
    bytes === null ? 'not known' : bytes < 1024 ? `${bytes} B` : `${bytes} B (${formatBytes(bytes)})`;
  const readers = recipientsAtMost === null ? '' : `, for at most ${counted(recipientsAtMost, 'reader')}`;
  const lines: [string, string][] = [
    ['File', found.file === '-' ? 'standard input' : printable(found.file)],
    ['Header', `${size(found.headerBytes)}, ${counted(found.packets, 'packet')}${readers}`],
    ['Body', `${size(found.bodyBytes)}${segments === null ? '' : `, ${counted(segments, 'segment')}`}`],
    ['Plaintext', size(found.plaintextBytes)],
  ];
  if (keysTried === 0) lines.push(['Opens with', 'no key was given; try one with --key FILE']);
  else if (opensWith.length === 0) lines.push(['Opens with', `none of the ${counted(keysTried, 'key')} given`]);
  else lines.push(['Opens with', opensWith.map(printable).join(', ')]);
  if (found.dataKeys !== null) {
    lines.push(['Data keys', String(found.dataKeys)]);
    lines.push(['Edit list', editList === null ? 'none' : describeEditList(editList)]);
    if (editList !== null) lines.push(['Visible', size(found.visibleBytes)]);
  }
  return lines.map(([name, text]) => `${`${name}:`.padEnd(12)}${text}`);
}

function describeEditList(lengths: readonly string[]): string {
  const shown = lengths.slice(0, 20).map((length, index) => `${index % 2 === 0 ? 'skip' : 'keep'} ${length}`);
  const more = lengths.length > shown.length ? `, and ${lengths.length - shown.length} more` : '';
  const end = lengths.length % 2 === 1 ? ', then all' : '';
  return `${shown.join(', ')}${more}${end}`;
}
