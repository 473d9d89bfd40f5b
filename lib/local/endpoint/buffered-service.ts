import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Permission } from '../iam/policy.ts';
import { AwsError, type AwsReply } from './errors.ts';
import { type XmlContent, xml } from './xml.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A service whose requests are small and read whole: JSON documents, or the forms of the Query protocol. */
export interface BufferedService {
  /** @throws AwsError for a request that this service does not have. */
  parse(
    path: string,
    headers: IncomingHttpHeaders,
    body: Uint8Array,
    query: string,
    method?: string,
  ): { readonly action: string; readonly input: JsonObject; readonly permissions: readonly Permission[] };
  /** @throws AwsError for a refusal. */
  handle(action: string, input: JsonObject, body: Uint8Array, headers: IncomingHttpHeaders): Promise<AwsReply>;
}

/** One operation of a service. Each function may throw an AwsError. */
export interface Operation<Input, Output> {
  /** What the caller needs the permission of the operation's own name on. @default - any resource, `*` */
  readonly resource?: (input: Input) => string;
  /** All permissions, where that one is not what the operation asks for. */
  readonly permissions?: (input: Input) => readonly Permission[];
  readonly run: (input: Input, headers: IncomingHttpHeaders) => Output;
}

/** What an operation of the Query protocol takes. All parameters are needed, and others are refused. */
export interface QueryOperation extends Operation<Readonly<Record<string, string>>, XmlContent> {
  readonly parameters: readonly string[];
}

/**
 * A service of the JSON protocols.
 *
 * @param prefix of `X-Amz-Target` and of permissions
 */
export function jsonService(
  { target, prefix, version = '1.1' }: { target: string; prefix: string; version?: '1.0' | '1.1' },
  operations: Readonly<Record<string, Operation<JsonObject, JsonObject>>>,
): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, target);
      const operation = Object.hasOwn(operations, action) ? operations[action] : undefined;
      if (!operation) throw new AwsError(400, 'UnknownOperationException', `${target}.${action} is not known here`);
      const input = parseJson(body);
      return { action, input, permissions: permissionsOf(prefix, action, operation, input) };
    },
    async handle(action, input, _body, headers) {
      const output = JSON.stringify(operations[action]?.run(input, headers));
      return { status: 200, headers: { 'content-type': `application/x-amz-json-${version}` }, body: output };
    },
  };
}

/** A service of the Query protocol: a form whose `Action` and `Version` say what it is, and a reply in XML. */
export function queryService<O extends QueryOperation>(
  { namespace, prefix }: { namespace: string; prefix: string },
  operations: Readonly<Record<string, O>>,
): BufferedService {
  return {
    parse(_path, _headers, body) {
      const form = Object.fromEntries(new URLSearchParams(Buffer.from(body).toString('utf8')));
      const { Action: action = '', Version: version, ...input } = form;
      const operation = Object.hasOwn(operations, action) ? operations[action] : undefined;
      if (!operation || !namespace.endsWith(`/${version}/`)) {
        throw new AwsError(400, 'InvalidAction', `the action ${action} (${version}) is not known here`);
      }
      const unknown = Object.keys(input).find((name) => !operation.parameters.includes(name));
      if (unknown) throw new AwsError(400, 'InvalidParameterCombination', `the parameter ${unknown} is not known here`);
      const missing = operation.parameters.find((name) => !(name in input));
      if (missing) throw new AwsError(400, 'MissingParameter', `the parameter ${missing} is missing`);
      return { action, input, permissions: permissionsOf(prefix, action, operation, input) };
    },
    async handle(action, input, _body, headers) {
      return queryReply(action, namespace, operations[action]?.run(input as Record<string, string>, headers));
    },
  };
}

export function queryReply(action: string, namespace: string, result: XmlContent): AwsReply {
  const requestId = randomUUID();
  const content = xml({ [`${action}Result`]: result, ResponseMetadata: { RequestId: requestId } });
  return {
    status: 200,
    headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId },
    body: `<${action}Response xmlns="${namespace}">${content}</${action}Response>`,
  };
}

function permissionsOf<Input>(
  prefix: string,
  action: string,
  { permissions, resource }: Operation<Input, unknown>,
  input: Input,
): readonly Permission[] {
  return permissions?.(input) ?? [{ action: `${prefix}:${action}`, resource: resource?.(input) ?? '*' }];
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
