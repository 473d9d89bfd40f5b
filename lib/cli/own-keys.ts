import {
  inspectPrivateKey,
  parsePrivateKey,
  parsePublicKey,
  publicKeyFingerprint,
  publicKeyOf,
} from '../crypt4gh/index.ts';
import { readKeyFile } from './key-files.ts';
import type { Session } from './session.ts';

/**
 * Fingerprints of the user's keys, without a question: from the public key beside a private one, or from a private key that needs no
 * passphrase, or has it in a setting.
 *
 * @returns `undefined` if no key is named, or one of them cannot be read that way
 */
export async function ownFingerprints({ settings }: Session): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>();
  for (const path of settings.ownKeyFiles) {
    const publicKey = (await publicKeyBeside(path)) ?? (await publicPart(path, settings.passphrase));
    if (publicKey === undefined) return undefined;
    found.add(publicKeyFingerprint(publicKey));
  }
  return found.size > 0 ? found : undefined;
}

async function publicKeyBeside(path: string): Promise<Uint8Array | undefined> {
  const beside = path.endsWith('.sec.pem') ? path.replace(/\.sec\.pem$/, '.pub.pem') : `${path}.pub`;
  return await readKeyFile('--key', beside)
    .then(parsePublicKey)
    .catch(() => undefined);
}

async function publicPart(
  path: string,
  passphrase: (() => Promise<string>) | undefined,
): Promise<Uint8Array | undefined> {
  try {
    const text = await readKeyFile('--key', path);
    const given = inspectPrivateKey(text).isProtected ? await passphrase?.() : undefined;
    const privateKey = await parsePrivateKey(text, given);
    try {
      return publicKeyOf(privateKey);
    } finally {
      privateKey.fill(0);
    }
  } catch {
    // A command that needs the private key says what is wrong with it.
    return undefined;
  }
}
