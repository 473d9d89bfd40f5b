import { readFileSync, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { decodedText } from '../../common/text.ts';
import { limits } from '../../contract/limits.ts';
import { UsageError, usageError } from '../../terminal/errors.ts';
import { type Output, printable } from '../../terminal/output.ts';
import { ClientError } from '../api/errors.ts';
import type { DecodedVisa } from '../api/order/decoded-visa.ts';
import { identitiesNote, isGrant, tokenIn, visasOf } from '../api/visa-choice.ts';

/** Bytes of the largest file with a secret: 200 large visas, as a sign-in gives them. */
const maxBytes = limits.visasPerPassport * limits.visaBytes + 65_536;

/** The secret in a file, without the line end that editors add. @param source names the file in errors */
export async function readSecretFile(source: string, path: string): Promise<string> {
  const bytes = await readSmallFile(source, path, maxBytes);
  return decodedText(bytes).replace(/\r?\n$/, '');
}

/** Reads a small file whole. @throws UsageError, ClientError `not_found`: both name `source` and the path */
export async function readSmallFile(source: string, path: string, limit: number): Promise<Buffer> {
  if (/-----BEGIN [A-Z0-9 ]+-----/.test(path)) {
    throw usageError(source, 'expected the name of a file, got the key itself', saveIt('key'));
  }
  try {
    const status = statSync(path);
    // A download reads its visa and password for each request: on threads, that takes longer than the request.
    const isShort = status.isFile() && status.size <= limit;
    const bytes = isShort ? readFileSync(path) : await readUpTo(limit + 1, path);
    if (bytes.length > limit) throw usageError(source, `${path} is too large: expected at most ${limit} bytes`);
    return bytes;
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error;
    const code = 'code' in error ? String(error.code) : '';
    if (code === 'ENOENT') throw new ClientError('not_found', `${source}: there is no file ${path}`, { cause: error });
    throw new UsageError(`${source}: ${path} cannot be read (${code || error.message})`, { cause: error });
  }
}

/** The first bytes of a file or pipe: no more than it has, because the limit can be megabytes. */
async function readUpTo(limit: number, path: string): Promise<Buffer> {
  await using file = await open(path, 'r');
  return Buffer.concat(await Array.fromAsync(file.createReadStream({ end: limit - 1, autoClose: false })));
}

/** Unlike OpenSSH, this client accepts such a file: on a shared file system its owner might have no choice. */
export async function warnWhenOthersCanRead(what: string, path: string, output: Pick<Output, 'warn'>): Promise<void> {
  const found = process.platform === 'win32' ? undefined : await stat(path).catch(() => undefined);
  if (!found?.isFile() || (found.mode & 0o077) === 0) return;
  output.warn(`other users of this machine can read the ${what} ${printable(path)}: run chmod 600 on it`);
}

/** Refuses a token instead of a file name: errors would repeat it. @throws UsageError */
export function refuseToken(source: string, value: string): void {
  if (!/eyJ[\w\s-]+\.[\w\s-]+\./.test(value)) return;
  throw usageError(source, 'expected the name of a file, got a token', saveIt('token'));
}

function saveIt(what: string): string {
  return `Save the ${what} in a file, and name that file. Other users of this machine can read command lines.`;
}

/** All visas of a file that has several; `undefined` for any other file. */
export async function heldVisas(visaFile: string | undefined): Promise<readonly DecodedVisa[] | undefined> {
  return visaFile === undefined ? undefined : visasOf(await readSecretFile('--visa', visaFile));
}

/** Which of several visas to take. */
export interface VisaChoice {
  /** One for it is preferred. */
  readonly dataset?: string | undefined;
  /** Whose visas the service accepts, if that is known. Asked only about visas of several issuers. */
  readonly issuers?: () => Promise<readonly string[] | undefined>;
  /** Receives which files the chosen visa does not reach, unless it is for a dataset. */
  readonly remark?: (text: string) => void;
}

/** A visa or passport for a header, by {@link tokenIn}. @throws UsageError for other text, without repeating it */
export async function checkedVisa(source: string, value: string, choice: VisaChoice = {}): Promise<string> {
  const { dataset, remark } = choice;
  const visas = visasOf(value);
  const hasSeveral = new Set(visas?.filter(isGrant).map(({ issuer }) => issuer)).size > 1;
  const issuers = hasSeveral ? await choice.issuers?.() : undefined;
  const token = tokenIn(value, dataset, issuers);
  if (token !== undefined) {
    const accepted = visas?.filter(({ issuer }) => issuers?.includes(issuer) ?? true) ?? [];
    const note = dataset === undefined ? identitiesNote(accepted, token) : undefined;
    if (note !== undefined) remark?.(note);
    return token;
  }
  if (visas) {
    throw usageError(source, `none of its ${visas.length} visas grants a dataset`, 'Ask the data access committee.');
  }
  // Loaded only now, because it loads Crypt4GH.
  const found = (await import('./file-kind.ts')).fileKind(value);
  if (found !== undefined) {
    const remedy = 'Name the file in which you saved your visa or passport.';
    throw usageError(source, `expected a visa or passport, got ${found}`, remedy);
  }
  throw usageError(source, 'expected one visa or passport: three base64url parts, separated by dots');
}
