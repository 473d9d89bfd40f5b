import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemTiming } from '../../common/timing.ts';
import { parseJson } from '../../common/untrusted-json.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { ifThere, makeFolder, onDisk } from '../api/download/disk/local-disk.ts';
import { FileLock } from '../api/download/disk/lock.ts';
import { UnavailableError } from '../api/errors.ts';
import { type EarlierSignIn, earlierSignIn } from '../api/login/about.ts';
import { type DecodedVisa, decodeVisaOrPassport } from '../api/order/decoded-visa.ts';
import type { Transport } from '../api/transport.ts';
import type { HeldVisa } from '../api/visa-choice.ts';
import { writeOutput } from './files/output-file.ts';

/** A visa that ends sooner is renewed before it is used. */
const soonMs = 60_000;

/** Where {@link replaceSignIn} keeps what renews a passport. */
export function renewalFile(passportFile: string): string {
  return join(dirname(passportFile), 'login.json');
}

/**
 * Replaces what a sign-in has stored: a passport with these visas, and what renews it. What is `undefined` is removed.
 * @returns what renewed the passport before
 * @throws LocalDiskError
 */
export async function replaceSignIn(
  passportFile: string,
  { visas, renewal }: { visas?: readonly DecodedVisa[] | undefined; renewal?: EarlierSignIn | undefined },
  terminal: Terminal,
): Promise<EarlierSignIn | undefined> {
  // Nothing is to be removed, and the folder may not be writable.
  if (!visas && ![passportFile, renewalFile(passportFile)].some((file) => existsSync(file))) return undefined;
  await makeFolder(dirname(passportFile), 0o700);
  await using _lock = await renewalLock(passportFile, terminal);
  const before = await renewalOf(passportFile);
  await replace(renewalFile(passportFile), renewal, terminal);
  await replace(passportFile, visas && passportOf(visas), terminal);
  return before;
}

function passportOf(visas: readonly DecodedVisa[]) {
  return { ga4gh_passport_v1: visas.map(({ token }) => token) };
}

/** Writes a file that only its owner can read, or removes it. */
async function replace(name: string, content: object | undefined, terminal: Terminal): Promise<void> {
  // An interruption must not lose the token that replaces another.
  const to = { name, terminal: { ...terminal, signal: new AbortController().signal }, force: true, mode: 0o600 };
  await onDisk(name, () =>
    content === undefined
      ? rm(name, { force: true })
      : writeOutput(to, (sink) => sink.write([Buffer.from(`${JSON.stringify(content)}\n`)])),
  );
}

async function renewalOf(passportFile: string): Promise<EarlierSignIn | undefined> {
  const file = renewalFile(passportFile);
  return earlierSignIn.safeParse(parseJson((await onDisk(file, () => ifThere(readFile(file, 'utf8')))) ?? '')).data;
}

/** Keeps other commands from the sign-in, because most issuers take a token once. Waits twenty seconds for one that renews. */
function renewalLock(passportFile: string, { signal }: Terminal): Promise<FileLock> {
  const sleep = (milliseconds: number) => systemTiming.sleep(10 * milliseconds, signal);
  return FileLock.acquire(`${renewalFile(passportFile)}.lock`, sleep);
}

/**
 * The visas of a sign-in. Those that have expired, or are about to, or that the service refused, are renewed if they can be.
 * @param use.read gives the visa that is stored now
 * @returns gives one that can be used. The service ends a visa sooner than its issuer if that signs for years, so the caller says
 * which one the service has refused
 */
export function renewedVisas(
  passportFile: string,
  use: {
    readonly read: () => Promise<HeldVisa>;
    readonly terminal: Terminal;
    readonly transport: () => Promise<Transport>;
  },
): (refused?: string) => Promise<HeldVisa> {
  const { read, terminal } = use;
  /** They are used until the service refuses them, because they have already expired by a fast clock. */
  const renewed = new Set<string>();
  const isUsable = ({ token }: HeldVisa, refused?: string) =>
    token !== refused && (renewed.has(token) || !endsSoon(token, terminal.now()));
  /** @throws ClientError `unauthenticated` if the user must sign in again */
  const usable = async (refused?: string) => {
    const current = await read();
    // The service refuses a visa that nothing renews, and says so.
    if (isUsable(current, refused) || !(await renewalOf(passportFile))) return current;
    await using _lock = await renewalLock(passportFile, terminal);
    const stored = await read();
    const earlier = await renewalOf(passportFile);
    if (isUsable(stored, refused) || !earlier) return stored;
    // Loaded only now, because it loads the OpenID library.
    const { Issuer } = await import('../api/login/sign-in.ts');
    const issuer = new Issuer(earlier, await use.transport(), terminal.signal);
    try {
      const { visas } = await issuer.renew(earlier, (next) => replace(renewalFile(passportFile), next, terminal));
      await replace(passportFile, passportOf(visas), terminal);
    } catch (error) {
      // A visa that the service has not refused may still be accepted.
      if (!(error instanceof UnavailableError) || stored.token === refused) throw error;
    }
    const now = await read();
    renewed.add(now.token);
    return now;
  };
  let pending: Promise<HeldVisa> | undefined;
  return async (refused) => {
    // The requests of a download share one renewal.
    pending ??= usable(refused).finally(() => {
      pending = undefined;
    });
    return await pending;
  };
}

function endsSoon(visa: string, now: Date): boolean {
  const expires = decodeVisaOrPassport(visa)?.expires;
  return expires !== undefined && expires.getTime() - soonMs <= now.getTime();
}
