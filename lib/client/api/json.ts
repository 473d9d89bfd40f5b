import * as z from 'zod/mini';
import { ClientError, checkAddress } from './errors.ts';

/** A text that is not empty. */
export const text = z.string().check(z.minLength(1));

/** A count, or a size. */
export const wholeNumber = z.int().check(z.nonnegative());

/** A member that may be missing. In another form it counts as missing. */
export const optional = <T>(schema: z.ZodMiniType<T>) => z.catch(z.optional(schema), undefined);

/** The reply's JSON. @throws ClientError `protocol` if it is not JSON; errors of the transport */
export async function readJson(
  reply: { text(maximumBytes?: number): Promise<string> },
  maximumBytes?: number,
): Promise<unknown> {
  const body = await reply.text(maximumBytes);
  try {
    return JSON.parse(body);
  } catch {
    throw unexpected('is not JSON');
  }
}

/** What a reply has of a schema. @throws ClientError `protocol` */
export function parsed<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const name = issue?.path.findLast((part) => typeof part === 'string');
  if (name === undefined) throw unexpected('has another form');
  const isUnknown = issue?.code === 'invalid_value';
  throw unexpected(isUnknown ? `has a ${name} that this version does not know` : `has no ${name}`);
}

/** The error for a reply that is not one of this service. @param what says what is wrong with it */
export function unexpected(what: string): ClientError {
  return new ClientError('protocol', `the service's reply ${what}`, {
    remedy: checkAddress,
  });
}

/** What a problem document (RFC 9457) says. What is not text, or an empty one, is `undefined`. */
export interface ProblemDocument {
  readonly code?: string | undefined;
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  readonly requestId?: string | undefined;
  readonly violations: readonly { readonly field: string; readonly message: string }[];
}

const violation = z.object({ field: z.string(), message: z.string() });

/** Reads a problem document, or an Error of DRS, which calls the detail `msg`. Any other text says nothing. */
export function problemIn(body: string): ProblemDocument {
  try {
    const members = Object(JSON.parse(body)) as Readonly<Record<string, unknown>>;
    const [code, title, detail, requestId, msg] = ['code', 'title', 'detail', 'requestId', 'msg'].map(
      (name) => text.safeParse(members[name]).data,
    );
    const violations = Array.isArray(members.violations) ? (members.violations as unknown[]) : [];
    return {
      ...{ code, title, detail: detail ?? msg, requestId },
      violations: violations.flatMap((each) => violation.safeParse(each).data ?? []),
    };
  } catch {
    return { violations: [] };
  }
}
