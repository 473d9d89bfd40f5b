import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { warnOfCommit } from '../../terminal/git-warning.ts';
import { printable } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';
import type { Session } from '../session.ts';

/**
 * Write a secret to a new file that its owner alone can read, and warn if Git would take it.
 * @param name as the user gave it
 * @throws OpsError `conflict` when the file exists
 */
export async function writeSecretFile(
  name: string,
  text: string,
  { terminal, output }: Pick<Session, 'terminal' | 'output'>,
): Promise<void> {
  const path = resolve(terminal.folder, name);
  await writeFile(path, text, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new OpsError('conflict', `${printable(name)} exists already`) : error;
  });
  await warnOfCommit(path, output);
}
