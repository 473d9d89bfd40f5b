import {
  inspectPrivateKey,
  parsePrivateKey,
  parsePublicKey,
  publicKeyFingerprint,
  publicKeyOf,
} from '../../crypt4gh/index.ts';
import { printable } from '../../terminal/output.ts';
import type { ReadReceipts } from '../api/receipts/receipt-files.ts';
import { type PrivateKeyFile, readKeyFile, wiping } from './key-files.ts';
import type { Session } from './session.ts';
import type { Settings } from './settings.ts';

/** The user's keys, as far as they are known. */
export interface OwnKeys {
  /** Fingerprints of the known ones. */
  readonly known: ReadonlySet<string>;
  /** Files of private keys whose public key is not known. */
  readonly unknown: readonly string[];
}

/**
 * The keys that the settings name, without asking for a passphrase. A public key comes from a private key that the command has
 * read, from the file beside it, or from a private key that needs no passphrase or has one in the settings.
 */
export async function findOwnKeys({ settings }: Session, read: readonly PrivateKeyFile[] = []): Promise<OwnKeys> {
  const known = new Set<string>();
  const unknown: string[] = [];
  for (const path of settings.ownKeyFiles) {
    const opened = read.find((each) => each.path === path);
    const publicKey = opened ? publicKeyOf(opened.privateKey) : await publicKeyIn(path, settings);
    if (publicKey === undefined) unknown.push(path);
    else known.add(publicKeyFingerprint(publicKey));
  }
  return { known, unknown };
}

/** The keys that a receipt must be for; `undefined`: one of the user's keys is not known, so any key is accepted. */
export function recipientsOf({ known, unknown }: OwnKeys): ReadonlySet<string> | undefined {
  return known.size > 0 && unknown.length === 0 ? known : undefined;
}

/** Warns of receipts that are ignored or not whole, and of receipts that might be for another person's key. */
export function warnOfReceipts(
  { output }: Session,
  { receipts, refused, foreign, notWhole }: ReadReceipts,
  { known, unknown }: OwnKeys,
): void {
  for (const { message } of [...refused, ...foreign, ...notWhole]) output.warn(printable(message));
  if (receipts.every(({ key_fingerprint }) => known.has(key_fingerprint))) return;
  for (const path of unknown) {
    const what = `the public key of ${path} is not known, so receipts for unknown keys are accepted`;
    output.warn(printable(`${what}: save it as ${besideOf(path)}`));
  }
}

function besideOf(path: string): string {
  return path.endsWith('.sec.pem') ? path.replace(/\.sec\.pem$/, '.pub.pem') : `${path}.pub`;
}

/** @returns `undefined` if there is none. A command that needs the private key reports what is wrong with it. */
async function publicKeyIn(path: string, { passphrase }: Settings): Promise<Uint8Array | undefined> {
  try {
    return parsePublicKey(await readKeyFile('--key', besideOf(path)));
  } catch {
    // The private key itself may tell.
  }
  try {
    const text = await readKeyFile('--key', path);
    const given = inspectPrivateKey(text).isProtected ? await passphrase?.() : undefined;
    const privateKey = await parsePrivateKey(text, given);
    using _wiped = wiping(privateKey);
    return publicKeyOf(privateKey);
  } catch {
    return undefined;
  }
}
