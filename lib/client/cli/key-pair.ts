import { formatPrivateKey, formatPublicKey, generateKeyPair, publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { UsageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { writeOutput } from './files/output-file.ts';
import { wiping } from './key-files.ts';

interface NewKeyPair extends ReturnType<typeof keyPairFiles> {
  readonly terminal: Terminal;
  /** Whether existing files are replaced. */
  readonly force?: boolean;
  /** Called once both names are free. `undefined`: the private key is not protected. */
  readonly passphrase: () => Promise<string | undefined>;
}

/** The two files of a pair of keys: `me.sec.pem` and `me.pub.pem` for `me`. */
export function keyPairFiles(name: string) {
  return { privateKey: `${name}.sec.pem`, publicKey: `${name}.pub.pem` };
}

/**
 * Makes a pair of keys, and writes both files or neither. Only the owner can read the private one.
 * @returns the SHA-256 of the public key, in hex
 * @throws ClientError `local_disk` if a file exists; UsageError for an empty passphrase
 */
export async function writeKeyPair(pair: NewKeyPair): Promise<string> {
  const { terminal, force = false } = pair;
  const { privateKey, publicKey } = generateKeyPair();
  using _wiped = wiping(privateKey);
  await writeOutput({ name: pair.privateKey, terminal, force, mode: 0o600 }, async (secretSink) => {
    // Fails for a name that is taken before the user types a passphrase.
    await writeOutput({ name: pair.publicKey, terminal, force }, async (publicSink) => {
      const passphrase = await pair.passphrase();
      const protection = passphrase === undefined ? {} : { passphrase: notEmpty(passphrase) };
      await secretSink.write([Buffer.from(await formatPrivateKey(privateKey, protection))]);
      await publicSink.write([Buffer.from(formatPublicKey(publicKey))]);
    });
  });
  return publicKeyFingerprint(publicKey);
}

/** @throws UsageError */
export function notEmpty(passphrase: string): string {
  if (passphrase !== '') return passphrase;
  throw new UsageError('the passphrase is empty', {
    remedy: 'Type one, or leave the key unprotected with --no-passphrase.',
  });
}
