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
 * @param options.force whether outputs that exist are replaced: then one that cannot be read could be a key
 * @throws UsageError, also with --force
 */
export async function guardOutputs(
  { settings, terminal: { folder } }: Session,
  outputs: readonly string[],
  inputs: readonly (string | undefined)[],
  { force = false }: { readonly force?: boolean | undefined },
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
    const isKey = async () => file.size <= maxKeyFileBytes && looksLikePrivateKey(await readFile(file.path));
    const found = () => isKey().then((is) => (is ? 'a private key' : undefined));
    const unreadable = force ? 'a file that cannot be read' : undefined;
    const what = identities.has(file.identity) ? 'an input' : await found().catch(() => unreadable);
    if (what === undefined) continue;
    throw usageError('--output', `${printable(output)} is ${what}, so it is not replaced`, 'Choose another --output.');
  }
}
