import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type CheckFileOptions, checkFile, type FileState } from '../download/check-file.ts';
import { exists, onDisk } from '../download/disk/local-disk.ts';
import { partPath, plaintextName } from '../download/disk/local-name.ts';
import type { Claim, Claims } from './claims.ts';

/**
 * Why a file that a receipt lists is not here, as far as that can be known. `not_downloaded`: it is in the outbox, or its download
 * was begun; `expired`: it is no longer in the outbox; `missing`: the outbox cannot be asked; `undelivered`: so says the receipt.
 */
const absent = ['not_downloaded', 'expired', 'missing', 'undelivered'] as const;

/** `no_receipt`: no receipt lists it. */
export type VerifiedState = FileState | (typeof absent)[number] | 'no_receipt';

export interface VerifiedFile {
  /** Of the local file; the file id of one that was not delivered. */
  readonly name: string;
  readonly state: VerifiedState;
  /** Bytes. */
  readonly size: number | undefined;
  /** Request id of the receipt that counts. */
  readonly requestId: string | undefined;
  readonly detail?: string | undefined;
}

export interface VerifyFolderOptions extends Pick<CheckFileOptions, 'privateKeys' | 'cipher' | 'signal'> {
  readonly folder: string;
  readonly claims: Claims;
  /** Names in the outbox now; asked for only when a file is missing. `undefined`: it cannot be known. */
  readonly inOutbox: () => Promise<ReadonlySet<string> | undefined>;
  /** Called before a file is read, with its size; the result gets the bytes read. */
  readonly reading: (name: string, size: number) => { readonly add: (bytes: number) => void; readonly end: () => void };
}

/** Whether a state counts as verified. */
export function isVerified(state: VerifiedState): boolean {
  return state === 'plaintext' || state === 'bytes';
}

/** Whether there is no such file, so nothing about it can be wrong. */
export function isAbsent(state: VerifiedState): boolean {
  return (absent as readonly VerifiedState[]).includes(state);
}

/**
 * Compares the files of a folder with what verified receipts say of them: first each file that a receipt lists, under its name
 * or without `.c4gh`, else where `download --original-paths` puts it, then what was not delivered, then containers that no receipt lists.
 * Other files are not looked at.
 * @throws LocalDiskError; ClientError `interrupted`
 */
export async function* verifyFolder(options: VerifyFolderOptions): AsyncGenerator<VerifiedFile, void, undefined> {
  const { folder, claims } = options;
  const here = await onDisk(folder, () => readdir(folder));
  const unlisted = new Set(here.filter((name) => /\.c4gh$/i.test(name) && claims.of(name) === undefined).sort());
  for (const claim of claims.all()) {
    const found = await verifyClaim(claim, options);
    for (const { name } of found) unlisted.delete(name);
    yield* found;
  }
  for (const { file, receipt } of claims.undelivered()) {
    const detail = file.by === undefined ? file.reason : `${file.reason} by ${file.by}`;
    yield { name: file.file_id, state: 'undelivered', size: undefined, requestId: receipt.jti, detail };
  }
  for (const name of unlisted) {
    const { size } = await onDisk(join(folder, name), () => stat(join(folder, name)));
    yield { name, state: 'no_receipt', size, requestId: undefined };
  }
}

async function verifyClaim(claim: Claim, options: VerifyFolderOptions): Promise<readonly VerifiedFile[]> {
  const { folder, claims, privateKeys, cipher, reading, signal, inOutbox } = options;
  const { file, receipt } = claim;
  const requestId = receipt.jti;
  const place = claims.place(file.name);
  // The receipt of a file with the same path, which had this one's id put before its name, can be elsewhere.
  const places = place ? [join(...place), join(...place.with(-1, file.name))] : [];
  const names = [...new Set([file.name, ...places])];
  const found: VerifiedFile[] = [];
  for (const name of names) {
    // `decrypt` writes the plaintext beside its container.
    for (const path of found.length > 0 ? [] : new Set([name, plaintextName(name)])) {
      if (!(await exists(join(folder, path)))) continue;
      const form = path === name ? 'container' : 'plaintext';
      const { add, end } = reading(path, (form === 'container' ? file.size : file.plaintext_size) ?? 0);
      const about = { path: join(folder, path), claim: file, form, privateKeys, cipher, onBytes: add, signal } as const;
      const verdict = await checkFile(about).finally(end);
      if (verdict) found.push({ name: path, requestId, ...verdict });
    }
  }
  if (found.length > 0) return found;
  const parts = await Promise.all(names.map((path) => exists(partPath(join(folder, dirname(path)), basename(path)))));
  const outbox = parts.includes(true) ? new Set([file.name]) : await inOutbox();
  const state = outbox === undefined ? 'missing' : outbox.has(file.name) ? 'not_downloaded' : 'expired';
  return [{ name: file.name, state, size: file.size, requestId }];
}
