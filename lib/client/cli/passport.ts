import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { parseJson } from '../../common/untrusted-json.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { ifThere, makeFolder, onDisk } from '../api/download/disk/local-disk.ts';
import { FileLock } from '../api/download/disk/lock.ts';
import { ClientError } from '../api/errors.ts';
import { type EarlierSignIn, Issuer, type SignedIn } from '../api/login/sign-in.ts';
import { decodeVisaOrPassport } from '../api/order/decoded-visa.ts';
import { isLongExpired } from '../api/order/order-rules.ts';
import type { Transport } from '../api/transport.ts';
import { writeOutput } from './files/output-file.ts';
import type { SignInFiles } from './sign-in-files.ts';

const text = z.string();
const earlier = z.object({ issuer: text, clientId: text, scopes: z.array(text), subject: text, refreshToken: text });
/** A visa that ends sooner is renewed before it is used. */
const soonMs = 60_000;

/** Writes a passport, and what renews it or nothing. Only the owner can read either. @throws LocalDiskError */
export async function storeSignIn(
  files: SignInFiles,
  { visas }: Pick<SignedIn, 'visas'>,
  renewal: EarlierSignIn | undefined,
  terminal: Terminal,
): Promise<void> {
  await makeFolder(dirname(files.passport), 0o700);
  if (renewal) await write(files.renewal, renewal, terminal);
  else await rm(files.renewal, { force: true });
  await write(files.passport, { ga4gh_passport_v1: visas }, terminal);
}

function write(name: string, content: object, terminal: Terminal): Promise<void> {
  // An interruption must not lose the token that replaces another.
  const { signal } = new AbortController();
  const bytes = Buffer.from(`${JSON.stringify(content)}\n`);
  return onDisk(name, () =>
    writeOutput({ name, terminal: { ...terminal, signal }, force: true, mode: 0o600 }, (sink) => sink.write([bytes])),
  );
}

/** How the user signed in, if that can be renewed. */
export async function earlierSignIn({ renewal }: SignInFiles): Promise<EarlierSignIn | undefined> {
  const content = await onDisk(renewal, () => ifThere(readFile(renewal, 'utf8')));
  return earlier.safeParse(parseJson(content ?? '')).data;
}

/** Removes the files of a sign-in. @returns whether there was one */
export async function removeSignIn(files: SignInFiles): Promise<boolean> {
  const found = await ifThere(readFile(files.passport));
  for (const file of [files.renewal, files.passport]) await rm(file, { force: true });
  return found !== undefined;
}

/**
 * A visa of a sign-in that can be used. Visas that have expired, or are about to, are renewed.
 * @param read gives the visa that is stored now
 * @throws ClientError `unauthenticated` if the user must sign in again
 */
export async function renewedVisa({
  files,
  read,
  terminal,
  transport,
}: {
  readonly files: SignInFiles;
  readonly read: () => Promise<string>;
  readonly terminal: Terminal;
  readonly transport: () => Promise<Transport>;
}): Promise<string> {
  const visa = await read();
  if (!endsSoon(visa, terminal.now())) return visa;
  if (await earlierSignIn(files)) {
    // Another command might renew at the same time, and most issuers take a token once.
    await using _lock = await FileLock.acquire(`${files.renewal}.lock`);
    const stored = await read();
    const sign = await earlierSignIn(files);
    if (!endsSoon(stored, terminal.now()) || !sign) return stored;
    const issuer = new Issuer(sign, await transport(), terminal.signal);
    const { visas } = await issuer.renew(sign, (renewal) => write(files.renewal, renewal, terminal));
    await write(files.passport, { ga4gh_passport_v1: visas }, terminal);
    return await read();
  }
  const token = decodeVisaOrPassport(visa);
  if (token === undefined || !isLongExpired(token, terminal.now())) return visa;
  throw new ClientError('unauthenticated', 'the visas of your last sign-in have expired', {
    remedy: 'Sign in again: data-out login. With --keep, data-out then renews them without you.',
  });
}

function endsSoon(visa: string, now: Date): boolean {
  const expires = decodeVisaOrPassport(visa)?.expires;
  return expires !== undefined && expires.getTime() - soonMs <= now.getTime();
}
