import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { withSlash } from '../api/connection.ts';
import { type PinnedKeys, parseKeySet, type ReceiptKeys } from '../api/delivery/key-set.ts';
import { ifThere, onDisk } from '../api/download/disk/local-disk.ts';
import { FileLock } from '../api/download/disk/lock.ts';
import { ClientError } from '../api/errors.ts';
import type { ProxyApi } from '../api/proxy.ts';
import { writeOutput } from './files/output-file.ts';
import type { Session } from './session.ts';

const fingerprintForm = /^[\w-]{43}$/;

/**
 * The pinned keys of the service; none before its first use.
 * @throws UsageError if no address is set, or the file of the keys is malformed; LocalDiskError
 */
export async function pinnedKeys(session: Session): Promise<PinnedKeys> {
  return (await pinsIn(session.settings.receiptKeysFile))[addressOf(session)] ?? [];
}

/** Pins these keys and no others. @param list fingerprints, with commas between them @throws as {@link pinnedKeys} */
export async function pinKeys(session: Session, list: string): Promise<PinnedKeys> {
  const pins = list.split(',');
  if (pins.every((each) => fingerprintForm.test(each))) return await changePins(session, () => pins);
  const form = 'expected fingerprints of receipt keys with commas between them: 43 letters, digits, - and _ each';
  throw usageError('--receipt-keys', form);
}

/** Changes the pinned keys, under a lock. @returns the keys pinned then @throws as {@link pinnedKeys} */
async function changePins(session: Session, changed: (pins: PinnedKeys) => PinnedKeys): Promise<PinnedKeys> {
  const { terminal, settings } = session;
  const { receiptKeysFile: path } = settings;
  const service = addressOf(session);
  await onDisk(path, () => mkdir(dirname(path), { recursive: true, mode: 0o700 }));
  await using _lock = await FileLock.acquire(`${path}.lock`);
  const all = await pinsIn(path);
  const pins = changed(all[service] ?? []);
  const text = `${JSON.stringify({ ...all, [service]: pins }, undefined, 2)}\n`;
  await onDisk(path, () =>
    writeOutput({ name: path, terminal, force: true, mode: 0o600 }, (sink) => sink.write([Buffer.from(text)])),
  );
  return pins;
}

/** The file beside the configuration file: pins by the address of the service. */
async function pinsIn(path: string): Promise<Readonly<Record<string, PinnedKeys>>> {
  const text = await onDisk(path, () => ifThere(readFile(path, 'utf8')));
  if (text === undefined) return {};
  try {
    const services = JSON.parse(text) as Record<string, PinnedKeys>;
    const lists = Object.values(services);
    if (lists.every((list) => Array.isArray(list) && list.every((each) => fingerprintForm.test(each)))) return services;
  } catch {
    // Handled like any other malformed file.
  }
  throw usageError(path, 'this file does not list receipt keys', 'Move it away, and pin the keys again.');
}

/**
 * The receipt keys of the service. Only pinned keys, and keys that they endorse, are trusted. At the first use of a service its
 * keys are pinned.
 * @throws ClientError
 */
export async function receiptKeys(
  session: Session,
  proxy: ProxyApi,
  signal = session.terminal.signal,
): Promise<ReceiptKeys> {
  const { output } = session;
  let pinned = await pinnedKeys(session);
  const text = await proxy.keySet({ signal });
  const source = 'the keys of the service';
  const pin = async (changed: (pins: PinnedKeys) => PinnedKeys) => {
    try {
      pinned = await changePins(session, changed);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'interrupted') throw error;
      output.warn(printable(`the receipt keys cannot be remembered: ${error.message}`));
      pinned = changed(pinned);
    }
    return pinned;
  };
  const learn = (known: PinnedKeys) => {
    const by = pinned;
    // If the user has removed a pinned key meanwhile, its endorsements no longer hold.
    return pin((pins) => (by.every((each) => pins.includes(each)) ? [...new Set([...pins, ...known])] : pins));
  };
  if (!isPinned(pinned)) {
    const { fingerprints } = parseKeySet(text, source);
    // Another command might have pinned keys meanwhile.
    await pin((pins) => (isPinned(pins) ? pins : fingerprints));
  }
  return parseKeySet(text, source, { trusted: pinned, learn });
}

/** Whether the service was used before. */
export function isPinned(pins: PinnedKeys): boolean {
  return pins.length > 0;
}

/** The address, ending in a slash. @throws UsageError if no address is set */
function addressOf({ settings }: Session): string {
  if (settings.proxyUrl) return withSlash(settings.proxyUrl).href;
  throw usageError('--url', 'no address of the service is set', 'Receipt keys belong to a service.');
}
