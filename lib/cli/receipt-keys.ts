import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type PinnedKeys, parseKeySet, type ReceiptKeys } from '../client/delivery/key-set.ts';
import { ifThere, onDisk } from '../client/download/disk/local-disk.ts';
import { ClientError } from '../client/errors.ts';
import type { ProxyApi } from '../client/proxy.ts';
import { usageError } from '../terminal/errors.ts';
import { printable } from '../terminal/output.ts';
import { writeOutput } from './files/output-file.ts';
import type { Session } from './session.ts';

const fingerprintForm = /^[\w-]{43}$/;

/** The keys of receipts that the user relies on, by the address of the service, in a file beside the configuration file. */
export class PinFile {
  readonly #session: Session;
  readonly #path: string;

  constructor(session: Session) {
    this.#session = session;
    this.#path = session.settings.receiptKeysFile;
  }

  /** @returns `undefined` before the first use of a service @throws UsageError if the file is malformed; LocalDiskError */
  async of(service: URL): Promise<PinnedKeys | undefined> {
    return (await this.#all())[service.href];
  }

  /** @throws as {@link of}; an error of the disk */
  async set(service: URL, { trusted, refused }: PinnedKeys): Promise<void> {
    const { terminal } = this.#session;
    const text = `${JSON.stringify({ ...(await this.#all()), [service.href]: { trusted, refused } }, undefined, 2)}\n`;
    await onDisk(this.#path, () => mkdir(dirname(this.#path), { recursive: true, mode: 0o700 }));
    await writeOutput({ name: this.#path, terminal, force: true, mode: 0o600 }, (sink) =>
      sink.write([Buffer.from(text)]),
    );
  }

  async #all(): Promise<Readonly<Record<string, PinnedKeys>>> {
    const text = await onDisk(this.#path, () => ifThere(readFile(this.#path, 'utf8')));
    if (text === undefined) return {};
    try {
      const services = JSON.parse(text) as Record<string, PinnedKeys>;
      const lists = Object.values(services).flatMap(({ trusted, refused }) => [trusted, refused]);
      if (lists.every((list) => Array.isArray(list) && list.every((each) => fingerprintForm.test(each))))
        return services;
    } catch {
      // As any other text that is none.
    }
    throw usageError(
      this.#path,
      'this file does not list keys of receipts',
      'Move it away, and accept the keys again.',
    );
  }
}

/**
 * The keys of the service, of which only the pinned ones count, and those that they endorse. At the first use of a service its keys
 * are pinned.
 *
 * @throws ClientError
 */
export async function receiptKeys(session: Session, proxy: ProxyApi): Promise<ReceiptKeys> {
  const { terminal, output } = session;
  const service = addressOf(session);
  const file = new PinFile(session);
  const pinned = await file.of(service);
  const text = await proxy.keySet({ signal: terminal.signal });
  const source = 'the keys of the service';
  const pin = async (keys: PinnedKeys) => {
    try {
      await file.set(service, keys);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'interrupted') throw error;
      output.warn(printable(`the keys of receipts cannot be remembered: ${error.message}`));
    }
  };
  if (pinned === undefined) {
    const keys = parseKeySet(text, source);
    await pin({ trusted: keys.fingerprints, refused: [] });
    return keys;
  }
  let { trusted } = pinned;
  const learn = async (fingerprints: readonly string[]) => {
    trusted = [...new Set([...trusted, ...fingerprints])];
    await pin({ ...pinned, trusted });
  };
  return parseKeySet(text, source, { ...pinned, learn });
}

/** @throws UsageError */
export function checkedFingerprint(source: string, text: string): string {
  if (fingerprintForm.test(text)) return text;
  throw usageError(source, 'expected the fingerprint of a key of receipts: 43 letters, digits, - and _');
}

/** @throws UsageError if no address is set */
export function addressOf({ settings }: Session): URL {
  if (settings.proxyUrl) return settings.proxyUrl;
  throw usageError('--url', 'no address of the service is set', 'Keys of receipts belong to a service.');
}
