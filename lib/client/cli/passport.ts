import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { systemTiming } from '../../common/timing.ts';
import { parseJson } from '../../common/untrusted-json.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { ifThere, makeFolder, onDisk } from '../api/download/disk/local-disk.ts';
import { FileLock } from '../api/download/disk/lock.ts';
import { UnavailableError } from '../api/errors.ts';
import { loginSettings } from '../api/login/about.ts';
import type { EarlierSignIn } from '../api/login/sign-in.ts';
import { type DecodedVisa, decodeVisaOrPassport } from '../api/order/decoded-visa.ts';
import type { Transport } from '../api/transport.ts';
import { visasOf } from '../api/visa-choice.ts';
import { writeOutput } from './files/output-file.ts';

const earlier = z.extend(loginSettings, { subject: z.string(), refreshToken: z.string() });
/** A visa that ends sooner is renewed before it is used. */
const soonMs = 60_000;

/** Where {@link storeSignIn} keeps what renews a passport. */
export function renewalFile(passportFile: string): string {
  return join(dirname(passportFile), 'login.json');
}

/**
 * Writes a passport, and what renews it or nothing. Only the owner can read either.
 * @returns what renewed the passport before
 * @throws LocalDiskError
 */
export async function storeSignIn(
  passportFile: string,
  visas: readonly DecodedVisa[],
  renewal: EarlierSignIn | undefined,
  terminal: Terminal,
): Promise<EarlierSignIn | undefined> {
  await makeFolder(dirname(passportFile), 0o700);
  await using _lock = await renewalLock(passportFile, terminal);
  const before = await earlierSignIn(passportFile);
  if (renewal) await write(renewalFile(passportFile), renewal, terminal);
  else await rm(renewalFile(passportFile), { force: true });
  await write(passportFile, passportOf(visas), terminal);
  return before;
}

function passportOf(visas: readonly DecodedVisa[]) {
  return { ga4gh_passport_v1: visas.map(({ token }) => token) };
}

function write(name: string, content: object, terminal: Terminal): Promise<void> {
  // An interruption must not lose the token that replaces another.
  const { signal } = new AbortController();
  const to = { name, terminal: { ...terminal, signal }, force: true, mode: 0o600 };
  return onDisk(name, () => writeOutput(to, (sink) => sink.write([Buffer.from(`${JSON.stringify(content)}\n`)])));
}

/** How the user signed in, if that can be renewed. */
export async function earlierSignIn(passportFile: string): Promise<EarlierSignIn | undefined> {
  const file = renewalFile(passportFile);
  return earlier.safeParse(parseJson((await onDisk(file, () => ifThere(readFile(file, 'utf8')))) ?? '')).data;
}

/** Whether a sign-in gives visas that have not expired, or that can be renewed. */
export async function isSignedIn(passportFile: string, now: Date): Promise<boolean> {
  const visas = visasOf((await onDisk(passportFile, () => ifThere(readFile(passportFile, 'utf8')))) ?? '') ?? [];
  if (visas.some(({ expires }) => expires === undefined || expires > now)) return true;
  return visas.length > 0 && (await earlierSignIn(passportFile)) !== undefined;
}

/**
 * Keeps other commands from the sign-in, because most issuers take a token once. Waits twenty seconds for one that renews.
 * @throws LocalDiskError
 */
export async function renewalLock(passportFile: string, { signal }: Terminal): Promise<FileLock> {
  const sleep = (milliseconds: number) => systemTiming.sleep(10 * milliseconds, signal);
  return await FileLock.acquire(`${renewalFile(passportFile)}.lock`, sleep);
}

/**
 * A visa of a sign-in that can be used. Visas that have expired, or are about to, or that the service refused, are renewed.
 * @param use.read gives the visa that is stored now
 * @param use.refused the service ends a visa sooner than its issuer if that signs for years
 * @param use.renewed gets each renewed visa, which is used until the service refuses it: by a fast clock it has expired already
 * @throws ClientError `unauthenticated` if the user must sign in again
 */
export async function renewedVisa(
  passportFile: string,
  use: {
    readonly read: () => Promise<string>;
    readonly refused: string | undefined;
    readonly renewed: Set<string>;
    readonly terminal: Terminal;
    readonly transport: () => Promise<Transport>;
  },
): Promise<string> {
  const { read, refused, renewed, terminal } = use;
  const isUsable = (visa: string) => visa !== refused && (renewed.has(visa) || !endsSoon(visa, terminal.now()));
  const current = await read();
  if (isUsable(current)) return current;
  // The service refuses a visa that nothing renews, and says so.
  if (!(await earlierSignIn(passportFile))) return current;
  await using _lock = await renewalLock(passportFile, terminal);
  const stored = await read();
  const sign = await earlierSignIn(passportFile);
  if (isUsable(stored) || !sign) return stored;
  // Loaded only now, because it loads the OpenID library.
  const { Issuer } = await import('../api/login/sign-in.ts');
  const issuer = new Issuer(sign, await use.transport(), terminal.signal);
  try {
    const { visas } = await issuer.renew(sign, (renewal) => write(renewalFile(passportFile), renewal, terminal));
    await write(passportFile, passportOf(visas), terminal);
  } catch (error) {
    // A visa that the service has not refused may still be accepted.
    if (!(error instanceof UnavailableError) || stored === refused) throw error;
  }
  const visa = await read();
  renewed.add(visa);
  return visa;
}

function endsSoon(visa: string, now: Date): boolean {
  const expires = decodeVisaOrPassport(visa)?.expires;
  return expires !== undefined && expires.getTime() - soonMs <= now.getTime();
}
