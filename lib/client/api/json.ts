import * as z from 'zod/mini';
import { parseJson } from '../../common/untrusted-json.ts';
import { ClientError, checkAddress } from './errors.ts';

/** A text that is not empty. */
export const text = z.string().check(z.minLength(1));

/** A count, or a size. */
export const wholeNumber = z.int().check(z.nonnegative());

/** A member that may be missing. In another form it counts as missing. */
export const optional = <T>(schema: z.ZodMiniType<T>) => z.catch(z.optional(schema), undefined);

/** The time that a text names; `undefined` if it names none. */
export function timeIn(written = ''): Date | undefined {
  const time = new Date(written);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** The reply's JSON. @throws ClientError `protocol` if it is not JSON; errors of the transport */
export async function readJson(
  reply: { text(maximumBytes?: number): Promise<string> },
  maximumBytes?: number,
): Promise<unknown> {
  const value = parseJson(await reply.text(maximumBytes));
  if (value === undefined) throw unexpected('is not JSON');
  return value;
}

/** What a reply has of a schema. @throws ClientError `protocol` */
export function parsed<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const name = error.issues[0]?.path.findLast((part) => typeof part === 'string');
  throw unexpected(name === undefined ? 'has another form' : `has no ${name} that this version knows`);
}

function unexpected(what: string): ClientError {
  return new ClientError('protocol', `the service's reply ${what}`, { remedy: checkAddress });
}

const violation = z.object({ field: z.string(), message: z.string() });
const problem = z.object({
  ...{ code: optional(text), title: optional(text), detail: optional(text), requestId: optional(text) },
  violations: z.catch(z.array(z.unknown()), []),
});

/** Reads a problem document (RFC 9457). What is not text, or an empty one, is `undefined`. Any other body says nothing. */
export function problemIn(body: string) {
  const { violations = [], ...said } = problem.safeParse(parseJson(body)).data ?? {};
  return { ...said, violations: violations.flatMap((each) => violation.safeParse(each).data ?? []) };
}
