import * as z from 'zod';
import { limits } from '../../contract/limits.ts';
import { visasIn } from '../../contract/unverified-token.ts';
import { InvalidRequestError, UnauthenticatedError } from '../../errors.ts';
import { jsonBody } from '../../http/json-body.ts';
import type { HttpRequest } from '../../http/request.ts';

/** Room for the passports, and for their names and quotes: 2.6 MB, of the 6 MB that AWS Lambda takes. */
const maxBodyBytes = limits.passportsPerRequest * (limits.passportBytes + 16) + 1024;

/** Other members are ignored: `expand` is about bundles, and there are none here. */
const body = z.object(
  {
    passports: z
      .array(z.string({ error: 'must be a string' }), { error: 'must be a list of passports' })
      .max(limits.passportsPerRequest, { error: `must not have more than ${limits.passportsPerRequest} entries` })
      .default([]),
    object: z.undefined({ error: 'is not taken: objects cannot be registered here' }).optional(),
  },
  { error: 'must be a JSON object' },
);

/**
 * The passports of a POST. Nothing in them is verified; their visas are counted.
 * @throws InvalidRequestError with every broken rule; never repeats a value. @throws UnauthenticatedError when there is none
 */
export function parsePassports(request: HttpRequest): readonly string[] {
  const parsed = body.safeParse(jsonBody(request, maxBodyBytes));
  if (!parsed.success) {
    throw new InvalidRequestError(
      parsed.error.issues.map(({ path, message }) => ({ field: path.join('.') || 'body', message })),
    );
  }
  const { passports } = parsed.data;
  if (passports.length === 0) throw new UnauthenticatedError('a passport is missing: send it in the member passports');
  // Before any signature is checked.
  const visas = passports.reduce((sum, passport) => sum + (visasIn(passport)?.length ?? 0), 0);
  if (visas > limits.visasPerRequest) {
    const message = `must not hold more than ${limits.visasPerRequest} visas in all`;
    throw new InvalidRequestError([{ field: 'passports', message }]);
  }
  return passports;
}
