import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { parseJson } from '../../common/untrusted-json.ts';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { addressOf } from '../api/connection.ts';
import type { DeliveryApi } from '../api/delivery-api.ts';
import { ifThere, makeFolder, onDisk } from '../api/download/disk/local-disk.ts';
import { FileLock } from '../api/download/disk/lock.ts';
import { ClientError } from '../api/errors.ts';
import { type ChangePins, type PinnedKeys, parseKeySet, type ReceiptKeys } from '../api/receipts/key-set.ts';
import { writeOutput } from './files/output-file.ts';
import type { Session } from './session.ts';

const fingerprints = z.array(z.string().check(z.regex(/^[\w-]{43}$/)));
/** The file beside the configuration file: pinned keys by the address of the service. */
const pinsFile = z.record(z.string(), fingerprints);

/**
 * The pinned keys of the service; none before its first use.
 * @throws ClientError `usage` if no address is set; UsageError if the file of the keys is malformed; LocalDiskError
 */
export async function pinnedKeys(session: Session): Promise<PinnedKeys> {
  return (await allPins(session))[addressOf(session.settings).href] ?? [];
}

/** Pins these keys and no others. @param list fingerprints, with commas between them @throws as {@link pinnedKeys} */
export async function pinKeys(session: Session, list: string): Promise<PinnedKeys> {
  const { data: pins } = fingerprints.safeParse(list.split(','));
  if (pins) return await changePins(session, () => pins);
  const form = 'expected fingerprints of receipt keys with commas between them: 43 letters, digits, - and _ each';
  throw usageError('--receipt-keys', form);
}

/** The receipt keys of the service: pinned ones, and those that they endorse. The first use pins them. @throws ClientError */
export async function receiptKeys(
  session: Session,
  proxy: DeliveryApi,
  signal = session.terminal.signal,
): Promise<ReceiptKeys> {
  const before = await pinnedKeys(session);
  const keys = await parseKeySet(await proxy.keySet({ signal }), 'the keys of the service');
  const change: ChangePins = async (changed) => {
    try {
      return await changePins(session, changed);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'interrupted') throw error;
      session.output.warn(printable(`the receipt keys cannot be remembered: ${error.message}`));
      return changed(before);
    }
  };
  // Another command might have pinned keys meanwhile.
  const first = () => change((pins) => (pins.length > 0 ? pins : keys.fingerprints));
  keys.pin(before.length > 0 ? before : await first(), change);
  return keys;
}

/** Changes the pinned keys, under a lock. @returns the keys pinned then @throws as {@link pinnedKeys} */
async function changePins(session: Session, changed: Parameters<ChangePins>[0]): Promise<PinnedKeys> {
  const { terminal, settings } = session;
  const { receiptKeysFile: name } = settings;
  const service = addressOf(settings).href;
  await makeFolder(dirname(name), 0o700);
  await using _lock = await FileLock.acquire(`${name}.lock`);
  const all = await allPins(session);
  const pins = await changed(all[service] ?? []);
  const text = `${JSON.stringify({ ...all, [service]: pins }, undefined, 2)}\n`;
  const to = { name, terminal, force: true, mode: 0o600 };
  await onDisk(name, () => writeOutput(to, (sink) => sink.write([Buffer.from(text)])));
  return pins;
}

async function allPins({ settings }: Session): Promise<z.infer<typeof pinsFile>> {
  const { receiptKeysFile: path } = settings;
  const text = await onDisk(path, () => ifThere(readFile(path, 'utf8')));
  const { data } = pinsFile.safeParse(text === undefined ? {} : parseJson(text));
  if (data) return data;
  throw usageError(path, 'this file does not list receipt keys', 'Move it away, and pin the keys again.');
}
