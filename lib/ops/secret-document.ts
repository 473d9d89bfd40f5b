import type * as z from 'zod';
import { OpsError } from './errors.ts';
import type { EditableSecret } from './ports.ts';

/**
 * The document in a secret; `empty` for a secret without a value.
 * @param name of the secret and `form` of its document, for the error
 * @throws OpsError `unusable_input` for another document: an operator must look before anything is written over
 */
export async function readDocument<T>(
  secret: EditableSecret,
  schema: z.ZodType<T>,
  { name, form, empty }: { readonly name: string; readonly form: string; readonly empty: T },
): Promise<T> {
  const { success, data } = schema.safeParse((await secret.read()) ?? empty);
  // Without the parser's own words: they could quote a key or a hash.
  if (!success) throw new OpsError('unusable_input', `${name} is not of the form ${form}: correct it by hand first`);
  return data;
}
