import { ClientError, checkAddress } from './errors.ts';

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

/** A member that must be text, not empty. @throws ClientError `protocol` */
export function text(value: unknown, name: string): string {
  const found = member(value, name);
  if (typeof found !== 'string' || found === '') throw unexpected(`has no ${name}`);
  return found;
}

/** A member that must be a count or size. @throws ClientError `protocol` */
export function wholeNumber(value: unknown, name: string): number {
  const found = member(value, name);
  if (typeof found !== 'number' || !Number.isSafeInteger(found) || found < 0) throw unexpected(`has no ${name}`);
  return found;
}

/** A member that is text or `null`. @throws ClientError `protocol` */
export function optionalText(value: unknown, name: string): string | null {
  return member(value, name) === null ? null : text(value, name);
}

/** A member that is a count or size, or `null`. @throws ClientError `protocol` */
export function count(value: unknown, name: string): number | null {
  return member(value, name) === null ? null : wholeNumber(value, name);
}

/** A member that must be an array. @throws ClientError `protocol` */
export function rowsOf(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  if (!Array.isArray(found)) throw unexpected(`has no ${name}`);
  return found;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** The error for a reply that is not one of this service. @param what says what is wrong with it */
export function unexpected(what: string): ClientError {
  return new ClientError('protocol', `the service's reply ${what}`, {
    remedy: checkAddress,
  });
}
