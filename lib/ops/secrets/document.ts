import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type * as z from 'zod';
import { warnOfCommit } from '../../terminal/git-warning.ts';
import { printable } from '../../terminal/output.ts';
import type { Session } from '../commands/session.ts';
import { OpsError } from '../errors.ts';
import type { EditableSecret } from '../stores/json-secret.ts';

/**
 * The document in a secret; `empty` for a secret without a value, or with `{}`, as an operator may have made it.
 * @param about `name` of the secret and `form` of its document, for the error
 * @throws OpsError `unusable_input` for another document, which must not be written over
 */
export async function readDocument<T>(
  secret: EditableSecret,
  schema: z.ZodType<T>,
  about: { readonly name: string; readonly form: string; readonly empty: T },
): Promise<T> {
  const stored = (await secret.read()) ?? {};
  const { success, data } = schema.safeParse(JSON.stringify(stored) === '{}' ? about.empty : stored);
  // Without the parser's own words: they could quote a key or a hash.
  if (!success)
    throw new OpsError('unusable_input', `${about.name} is not of the form ${about.form}: correct it by hand first`);
  return data;
}

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
    throw error.code === 'EEXIST'
      ? new OpsError('conflict', `${printable(name)} exists already: choose another name`)
      : error;
  });
  await warnOfCommit(path, output);
}
