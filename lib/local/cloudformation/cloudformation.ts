import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError, escapeXml } from '../endpoint/errors.ts';
import { flag, parseQuery, queryReply } from '../endpoint/query-protocol.ts';

/**
 * CloudFormation, as far as this service uses it: `UpdateTerminationProtection`.
 *
 * @param stacks whether each stack is protected, by its ARN
 */
export function cloudFormation(stacks: Map<string, boolean>): BufferedService {
  const action = 'UpdateTerminationProtection';
  return {
    parse(_path, _headers, body) {
      const input = parseQuery(body, action, '2010-05-15', ['StackName', 'EnableTerminationProtection']);
      const resource = String(input.StackName);
      if (!stacks.has(resource)) throw new AwsError(400, 'ValidationError', `Stack [${resource}] does not exist`);
      return { action, input, permissions: [{ action: `cloudformation:${action}`, resource }] };
    },
    async handle(_action, input) {
      const id = String(input.StackName);
      stacks.set(id, flag(input, 'EnableTerminationProtection'));
      const result = `<StackId>${escapeXml(id)}</StackId>`;
      return queryReply(action, 'http://cloudformation.amazonaws.com/doc/2010-05-15/', result);
    },
  };
}
