import type { IncomingHttpHeaders } from 'node:http';
import { AwsError, type AwsReply } from './errors.ts';
import type { Permission } from './iam.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonCall {
  readonly action: string;
  readonly input: JsonObject;
  readonly permissions: readonly Permission[];
}

/** A service that takes small requests whole: JSON documents, or the forms of the Query protocol. */
export interface JsonService {
  /** @throws AwsError for what is no request of this service. */
  parse(path: string, headers: IncomingHttpHeaders, body: Uint8Array, query: string): JsonCall;
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

/** The action that `X-Amz-Target: prefix.Action` names. */
export function targetAction(headers: IncomingHttpHeaders, prefix: string): string {
  const target = String(headers['x-amz-target'] ?? '');
  if (!target.startsWith(`${prefix}.`)) throw new AwsError(400, 'UnknownOperationException', 'unknown X-Amz-Target');
  return target.slice(prefix.length + 1);
}

/**
 * The parameters of a request in the Query protocol: a form whose `Action` and `Version` say what it is.
 *
 * @param parameters those that the service knows here; all of them are needed, and others are refused
 */
export function parseQuery(
  body: Uint8Array,
  action: string,
  version: string,
  parameters: readonly string[],
): Readonly<Record<string, string>> {
  const { Action, Version, ...input } = Object.fromEntries(new URLSearchParams(Buffer.from(body).toString('utf8')));
  if (Action !== action || Version !== version) {
    throw new AwsError(400, 'InvalidAction', `the action ${String(Action)} (${String(Version)}) is not known here`);
  }
  const unknown = Object.keys(input).find((name) => !parameters.includes(name));
  if (unknown) throw new AwsError(400, 'InvalidParameterCombination', `the parameter ${unknown} is not known here`);
  const missing = parameters.find((name) => !(name in input));
  if (missing) throw new AwsError(400, 'MissingParameter', `the parameter ${missing} is missing`);
  return input;
}
