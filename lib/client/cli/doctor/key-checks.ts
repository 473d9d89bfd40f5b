import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  headerLength,
  headerLimits,
  NoMatchingKeyError,
  openHeader,
  publicKeyFingerprint,
  publicKeyOf,
} from '../../../crypt4gh/index.ts';
import { UsageError } from '../../../terminal/errors.ts';
import { StagedFile } from '../../api/download/staged-file.ts';
import { ClientError } from '../../api/errors.ts';
import type { ProxyApi } from '../../api/proxy.ts';
import { type PrivateKeyFile, type PrivateKeys, readPrivateKey } from '../key-files.ts';
import type { Session } from '../session.ts';
import { type CheckResult, failed, ok, skipped } from './check.ts';

/** First read of a header; with one recipient it has 124 bytes. */
const firstBytes = 64 * 1024;

/** Reads every private key that the settings name. @param keys gets those that can be read */
export async function* checkKeys(session: Session, keys: PrivateKeys): AsyncGenerator<CheckResult, void> {
  const check = 'key';
  for (const path of session.settings.keyFiles) {
    try {
      const privateKey = await readPrivateKey(path, session);
      keys.files.push({ path, privateKey });
      const fingerprint = publicKeyFingerprint(publicKeyOf(privateKey));
      yield ok(check, `${path}: public key with SHA-256 ${fingerprint}`, { path, fingerprint });
    } catch (error) {
      yield failed(check, error);
    }
  }
  if (session.settings.keyFiles.length > 0) return;
  yield skipped(check, 'no private key is named: --key FILE, DATA_OUT_KEY_FILE or key_files');
}

/** Says which of the keys opens a header. @param name of its file @throws UsageError, ClientError */
export function checkHeader(name: string, header: Uint8Array, keys: readonly PrivateKeyFile[]): CheckResult {
  if (keys.length === 0) {
    throw new UsageError(`there is no key to open ${name} with`, { remedy: 'Name yours with --key FILE.' });
  }
  const found = keys.find(({ privateKey }) => opens(header, privateKey));
  if (found) return ok('header', `${found.path} opens ${name}`, { name, openedBy: found.path });
  const tried = keys.length === 1 ? 'your key does not open' : `none of your ${keys.length} keys opens`;
  throw new ClientError('forbidden', `${tried} ${name}`, {
    remedy:
      'Find the private key that belongs to the public key of the export, or ask for an export to a key you have.',
  });
}

function opens(header: Uint8Array, privateKey: Uint8Array): boolean {
  try {
    for (const key of openHeader(header, [privateKey]).dataKeys) key.fill(0);
    return true;
  } catch (error) {
    if (error instanceof NoMatchingKeyError) return false;
    throw error;
  }
}

/** The header of a local file, which is a container or a header alone. @throws ClientError, MalformedHeaderError */
export async function readLocalHeader(path: string, folder: string): Promise<Uint8Array> {
  const absolute = resolve(folder, path);
  await using file = await open(absolute, 'r').catch((error: NodeJS.ErrnoException) => {
    const code = error.code === 'ENOENT' ? 'not_found' : 'usage';
    throw new ClientError(code, `--header: ${absolute} cannot be read (${error.code ?? error.message})`, {
      cause: error,
    });
  });
  return await growing(async (size) => {
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  });
}

/** The start of a staged container, with its whole header. @throws ClientError; MalformedHeaderError */
export async function readStagedHeader(proxy: ProxyApi, name: string, signal: AbortSignal): Promise<Uint8Array> {
  const { size } = await proxy.location(name, { signal });
  const remote = new StagedFile(proxy, { name, size });
  return await growing((wanted) => remote.read(0, Math.min(wanted, size), { signal }));
}

/**
 * The first bytes of a file, including the whole header if it has one.
 * @param read reads the first `size` bytes, or the whole file if it is shorter
 */
async function growing(read: (size: number) => Promise<Uint8Array>): Promise<Uint8Array> {
  for (let size = firstBytes; ; size *= 4) {
    const bytes = await read(size);
    if (headerLength(bytes) !== undefined || bytes.length < size || size > headerLimits.bytes) return bytes;
  }
}
