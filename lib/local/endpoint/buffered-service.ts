import type { IncomingHttpHeaders } from 'node:http';
import type { Permission } from '../iam/policy.ts';
import { AwsError, type AwsReply } from './errors.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ServiceCall {
  readonly action: string;
  readonly input: JsonObject;
  readonly permissions: readonly Permission[];
}

/** A service whose requests are small and read whole: JSON documents, or the forms of the Query protocol. */
export interface BufferedService {
  /** @throws AwsError for a request that this service does not have. */
  parse(path: string, headers: IncomingHttpHeaders, body: Uint8Array, query: string, method?: string): ServiceCall;
  /** @throws AwsError for a refusal. */
  handle(action: string, input: JsonObject, body: Uint8Array, headers: IncomingHttpHeaders): Promise<AwsReply>;
}

export function parseJson(body: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {}
  throw new AwsError(400, 'SerializationException', 'the request body is not a JSON object');
}

/** A good answer of AWS's JSON protocols. */
export function jsonReply(body: unknown, version: '1.0' | '1.1' = '1.1'): AwsReply {
  return { status: 200, headers: { 'content-type': `application/x-amz-json-${version}` }, body: JSON.stringify(body) };
}

/** The action that `X-Amz-Target: prefix.Action` names. */
export function targetAction(headers: IncomingHttpHeaders, prefix: string): string {
  const target = String(headers['x-amz-target'] ?? '');
  if (!target.startsWith(`${prefix}.`)) throw new AwsError(400, 'UnknownOperationException', 'unknown X-Amz-Target');
  return target.slice(prefix.length + 1);
}
