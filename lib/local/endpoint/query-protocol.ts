import { randomUUID } from 'node:crypto';
import { AwsError, type AwsReply, escapeXml } from './errors.ts';

/** The action that a request in the Query protocol names. @throws AwsError InvalidAction for another than these */
export function actionOf<T extends string>(body: Uint8Array, known: readonly T[]): T {
  const named = new URLSearchParams(Buffer.from(body).toString('utf8')).get('Action');
  const action = known.find((each) => each === named);
  if (action) return action;
  throw new AwsError(400, 'InvalidAction', `the action ${named} is not known here`);
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

/** A parameter that is `true` or `false`. @throws AwsError ValidationError */
export function flag(input: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = input[name];
  if (value === 'true' || value === 'false') return value === 'true';
  throw new AwsError(400, 'ValidationError', `${name} must be true or false`);
}

/** XML elements with texts, by their names. */
export function elements(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`)
    .join('');
}

/** The reply to an action. @param result XML inside its `…Result` element */
export function queryReply(action: string, namespace: string, result: string): AwsReply {
  const requestId = randomUUID();
  return {
    status: 200,
    headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId },
    body:
      `<${action}Response xmlns="${namespace}"><${action}Result>${result}</${action}Result>` +
      `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata></${action}Response>`,
  };
}
