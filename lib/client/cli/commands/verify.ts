import { resolve } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { type Columns, formatBytes, printable } from '../../../terminal/output.ts';
import { DeliveryApi } from '../../api/delivery-api.ts';
import { ClientError } from '../../api/errors.ts';
import type { Claims } from '../../api/receipts/claims.ts';
import { receiptNames } from '../../api/receipts/receipt-files.ts';
import {
  isAbsent,
  isVerified,
  type VerifiedFile,
  type VerifiedState,
  verifyFolder,
} from '../../api/receipts/verify-folder.ts';
import { incompleteError, incompleteText } from '../download/delivery-summary.ts';
import { threadsFor } from '../files/threads.ts';
import { keySetOption, keysOf, readFolder } from '../folder-receipts.ts';
import { PrivateKeys, readPrivateKeys } from '../key-files.ts';
import { withKeyOptions, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const afterHelp = `
A delivery receipt (NAME.delivery.jws) comes with every export; data-out download fetches it. Its signature is verified first,
with the keys of the service, or with --keys offline. If several receipts list a file, the newest request wins. A receipt in
parts is used once all of its parts are here. States of a file:

  plaintext       its plaintext has the SHA-256 of the receipt: with --key, or decrypted already
  bytes           its CRC-64/NVME and header digest match the receipt, which detects accidents, not forgery
  size only       nothing else could be compared: not verified
  differs         it is not what the receipt says
  cannot be read  it belongs to another user
  not downloaded  it is not here, but is in the outbox, or its download was interrupted
  expired         it is not here, and no longer in the outbox
  missing         it is not here, and the outbox cannot be listed
  undelivered     the receipt says that it was not delivered, and why
  no receipt      a Crypt4GH file that no receipt lists

The exit code is 0 only when every file is "plaintext" or "bytes" and the deliveries are complete; otherwise it is 10. With
--partial it is 0 when every file that is here is "plaintext" or "bytes".

Examples:
  data-out verify data
  data-out verify data --key me.sec.pem
  data-out verify data --partial
  data-out verify data --keys jwks.json`;

const columns: Columns<ReturnType<typeof rowOf>> = [
  ['NAME', ({ name }) => name],
  ['STATE', ({ state }) => wordsOf(state)],
  ['SIZE', ({ size }) => (size === null ? '' : formatBytes(size)), 'right'],
  ['RECEIPT', ({ requestId }) => requestId],
  ['WHY', ({ detail }) => detail],
];

export function registerVerify(program: Command, context: CommandContext): void {
  const verifying = program
    .command('verify')
    .description('compare downloaded files with their delivery receipts')
    .argument('[folder]', 'folder with the files and the receipts', '.')
    .option(...keySetOption)
    .option('--partial', 'missing files are not an error');
  withServiceOptions(
    withKeyOptions(verifying, 'your private key: also compares the plaintext, decrypted in memory; repeatable'),
  )
    .addHelpText('after', afterHelp)
    .action(async (name, { keys: keySet, partial = false, key }, command) => {
      await using session = await openSession(context, command);
      const { terminal, output } = session;
      const folder = resolve(terminal.folder, name);
      const names = await receiptNames(folder);
      if (names.length === 0) throw noReceipt(`in ${printable(folder)}`);
      const keys = await keysOf(session, keySet);
      using keyFiles = key ? await readPrivateKeys(session) : new PrivateKeys();
      const read = await readFolder(session, folder, { names, keys, opened: keyFiles.files });
      const { claims } = read;
      const files = await filesOf(session, folder, claims, keyFiles.raw, keySet !== undefined);
      const unusable = read.refused[0] ?? read.notWhole[0];
      if (files.length === 0 && !unusable) throw noReceipt(`for your key in ${printable(folder)}`);
      output.table(columns, files.map(rowOf));
      const lacking = claims.lacking();
      for (const receipt of lacking) output.warn(incompleteText(receipt));
      const incomplete = partial ? undefined : lacking[0];
      conclude(session, files, { partial, problem: unusable ?? (incomplete && incompleteError(incomplete)) });
    });
}

function noReceipt(where: string): ClientError {
  const remedy = "data-out download '*.delivery.jws' fetches the receipts of your outbox.";
  return new ClientError('not_found', `there is no delivery receipt ${where}`, { remedy });
}

async function filesOf(
  session: Session,
  folder: string,
  claims: Claims,
  privateKeys: readonly Uint8Array[],
  isOffline: boolean,
) {
  const { terminal, progress } = session;
  const { signal } = terminal;
  let bytes = 0;
  for (const { file } of claims.all()) bytes += file.size;
  progress.expect(bytes, claims.size);
  await using workers = privateKeys.length > 0 ? threadsFor(bytes, signal) : undefined;
  let outbox: ReturnType<typeof namesInOutbox> | undefined;
  const inOutbox = async () => {
    if (!isOffline) outbox ??= namesInOutbox(session);
    return await outbox;
  };
  const reading = (name: string, size: number) => progress.task(printable(name), size);
  const about = { folder, claims, privateKeys, cipher: workers, inOutbox, reading, signal };
  const files = await Array.fromAsync(verifyFolder(about));
  progress.end();
  return files;
}

/** @returns `undefined` without a visa, or if the service does not answer: then expired files are shown as missing */
async function namesInOutbox(session: Session): Promise<ReadonlySet<string> | undefined> {
  const { settings, terminal, output } = session;
  let why = 'without --visa your outbox cannot be listed.';
  try {
    const files = settings.visa && new DeliveryApi(await session.service()).list({ signal: terminal.signal });
    if (files) return new Set((await Array.fromAsync(files)).map(({ name }) => name));
  } catch (error) {
    if (!(error instanceof ClientError) || error.code === 'interrupted') throw error;
    why = error.message;
  }
  output.note(printable(`Files that have expired are shown as missing: ${why}`));
  return undefined;
}

/** As `--json` shows it. */
function rowOf({ name, state, size, requestId, detail }: VerifiedFile) {
  return { name, state, size: size ?? null, requestId: requestId ?? null, detail };
}

/** The last line, and the failure. @param result.problem with the receipts */
function conclude(
  { output }: Session,
  files: readonly VerifiedFile[],
  { partial, problem }: { readonly partial: boolean; readonly problem: ClientError | undefined },
): void {
  const count = partial ? files.filter(({ state }) => !isAbsent(state)).length : files.length;
  const groups = Map.groupBy(files, ({ state }) => state);
  const verified = files.filter(({ state }) => isVerified(state)).length;
  if (groups.has('bytes')) output.note('"bytes" detects accidents, not forgery: give --key to compare the plaintext.');
  const states = [...groups]
    .map(([state, { length }]) => `${length} ${isVerified(state) ? 'by ' : ''}${wordsOf(state)}`)
    .join(', ');
  output.note(`${verified} of ${count} files verified${states === '' ? '' : `: ${states}`}`);
  if (verified < count) {
    throw new ClientError('not_verified', `${count - verified} of ${count} files are not verified`, {
      remedy: problem?.remedy ?? 'Download what differs or is missing. Ask for a new export of what has expired.',
    });
  }
  if (problem) throw problem;
}

function wordsOf(state: VerifiedState): string {
  return state.replaceAll('_', ' ');
}
