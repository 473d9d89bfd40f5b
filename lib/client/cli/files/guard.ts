import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { looksLikePrivateKey } from '../../../crypt4gh/index.ts';
import { usageError } from '../../../terminal/errors.ts';
import { printable } from '../../../terminal/output.ts';
import { maxKeyFileBytes } from '../key-files.ts';
import type { Session } from '../session.ts';

/**
 * Protects what cannot be made again: no output may be a file that the command reads, under whatever name, or a private key.
 * @param inputs names of files; the user's own keys need not be among them. `-` and `undefined` are ignored
 * @throws UsageError, also with --force
 */
export async function guardOutputs(
  { settings, terminal: { folder } }: Session,
  outputs: readonly string[],
  inputs: readonly (string | undefined)[],
): Promise<void> {
  const find = async (name: string | undefined) => {
    if (name === undefined || name === '-') return undefined;
    const path = resolve(folder, name);
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    return found?.isFile() ? { path, size: found.size, identity: `${found.dev} ${found.ino}` } : undefined;
  };
  const read = await Promise.all([...inputs, ...settings.ownKeyFiles].map(find));
  const identities = new Set(read.map((file) => file?.identity));
  for (const output of outputs) {
    const file = await find(output);
    if (file === undefined) continue;
    // Only this user's own keys are protected: a file that cannot be read belongs to another person.
    const content = file.size <= maxKeyFileBytes ? await readFile(file.path).catch(() => undefined) : undefined;
    const isKey = content !== undefined && looksLikePrivateKey(content);
    const what = identities.has(file.identity) ? 'an input' : isKey ? 'a private key' : undefined;
    if (what === undefined) continue;
    throw usageError('--output', `${printable(output)} is ${what}, so it is not replaced`, 'Choose another --output.');
  }
}
