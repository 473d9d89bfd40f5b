import type * as z from 'zod';
import { OpsError } from '../errors.ts';
import type { EditableSecret } from '../ports.ts';

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
