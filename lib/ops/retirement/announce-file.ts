import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';

/** Checks, before anything is deleted, that the text for the team can be written afterwards. @throws UsageError */
export async function checkAnnounceFile(folder: string, name: string): Promise<void> {
  const path = resolve(folder, name);
  try {
    const status = await stat(path).catch(ifAbsent);
    if (status?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    await access(status === undefined ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError('--announce-file', `${printable(name)} cannot be written (${code})`);
  }
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
