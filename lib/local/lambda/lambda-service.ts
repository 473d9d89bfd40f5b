import { randomUUID } from 'node:crypto';
import type { LocalAccount } from '../account/account.ts';
import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError, type AwsReply } from '../endpoint/errors.ts';
import { type Functions, payloadLimit } from './functions.ts';

/** `POST /2015-03-31/functions/{FunctionName}/invocations`, the name or the ARN percent-encoded. */
const invocations = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;
const accountSettings = '/2016-08-19/account-settings';

/** Lambda's own API, as far as it is used: synchronous invocations of the latest version, and `GetAccountSettings`. */
export function lambdaService(functions: Functions, account: Pick<LocalAccount, 'concurrency'>): BufferedService {
  return {
    parse(path, headers, body, query, method) {
      if (method === 'GET' && path === accountSettings) {
        const permissions = [{ action: 'lambda:GetAccountSettings', resource: '*' }];
        return { action: 'GetAccountSettings', input: {}, permissions };
      }
      const name = invocations.exec(path)?.[1];
      if (name === undefined) throw new AwsError(404, 'UnknownOperationException', `no operation ${path}`);
      const type = headers['x-amz-invocation-type'] ?? 'RequestResponse';
      if (type !== 'RequestResponse' || query !== '') {
        throw new AwsError(
          400,
          'InvalidParameterValueException',
          'the local Lambda knows only synchronous calls of the latest version',
        );
      }
      if (headers['x-amz-log-type'] === 'Tail') {
        throw new AwsError(400, 'InvalidParameterValueException', 'the local Lambda does not return logs');
      }
      if (body.byteLength > payloadLimit) {
        throw new AwsError(413, 'RequestTooLargeException', 'the request payload is larger than 6 MB');
      }
      const resource = arnOf(functions, decodeURIComponent(name));
      const permissions = [{ action: 'lambda:InvokeFunction', resource }];
      return { action: 'Invoke', input: { FunctionName: resource }, permissions };
    },
    async handle(action, input, body) {
      if (action === 'GetAccountSettings') {
        const { all, unreserved } = account.concurrency;
        const limit = { ConcurrentExecutions: all, UnreservedConcurrentExecutions: unreserved };
        return reply({ 'content-type': 'application/json' }, { AccountLimit: limit });
      }
      const result = await functions.invoke(String(input.FunctionName), eventOf(body));
      const headers = { 'content-type': 'application/json', 'x-amzn-requestid': randomUUID() };
      return result.ok
        ? reply({ ...headers, 'x-amz-executed-version': '$LATEST' }, result.payload)
        : // Lambda reports every error of a function as Unhandled.
          reply({ ...headers, 'x-amz-function-error': 'Unhandled' }, result.error);
    },
  };
}

function reply(headers: Readonly<Record<string, string>>, payload: unknown): AwsReply {
  return { status: 200, headers, body: JSON.stringify(payload) ?? 'null' };
}

function arnOf(functions: Functions, name: string): string {
  try {
    return functions.definition(name).arn;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AwsError(404, 'ResourceNotFoundException', `Function not found: ${name}`);
  }
}

/** An empty body is an empty object. @throws AwsError InvalidRequestContentException when it is not JSON */
function eventOf(body: Uint8Array): unknown {
  const text = Buffer.from(body).toString('utf8');
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    throw new AwsError(400, 'InvalidRequestContentException', 'Could not parse request body into json');
  }
}
