import type { LocalAccount } from '../account/account.ts';
import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError, escapeXml } from '../endpoint/errors.ts';
import { actionOf, flag, parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import type { Deployment } from '../template/deployment.ts';
import { stackId } from '../template/names.ts';

const version = '2010-05-15';
const namespace = `http://cloudformation.amazonaws.com/doc/${version}/`;
const parameters = {
  DescribeStacks: ['StackName'],
  ListStackResources: ['StackName'],
  UpdateTerminationProtection: ['StackName', 'EnableTerminationProtection'],
} as const;

/**
 * CloudFormation, as far as this service and its tools use it: `DescribeStacks` of one stack, `UpdateTerminationProtection`, and
 * `ListStackResources` with all resources on one page.
 *
 * @param stacks whether each stack of the template is protected, by its ARN
 */
export function cloudFormation(
  stacks: Map<string, boolean>,
  deployment: Pick<Deployment, 'region' | 'resourcesOf'>,
  account: Pick<LocalAccount, 'stacks'>,
): BufferedService {
  /** The ARN of a stack that is named by it, or by its name. */
  const arnOf = (nameOrArn: string) => {
    const arn = stacks.has(nameOrArn) ? nameOrArn : stackId(nameOrArn, deployment.region);
    if (!stacks.has(arn)) throw unknownStack(nameOrArn);
    return arn;
  };
  const describe = (name: string) => {
    const stack = account.stacks.get(name);
    if (!stack) throw unknownStack(name);
    const outputs = Object.entries(stack.outputs).map(
      ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${escapeXml(value)}</OutputValue></member>`,
    );
    const member =
      `<StackId>${escapeXml(stackId(name, deployment.region))}</StackId><StackName>${escapeXml(name)}</StackName>` +
      `<CreationTime>${stack.createdAt.toISOString()}</CreationTime><StackStatus>${stack.status}</StackStatus>` +
      `<Outputs>${outputs.join('')}</Outputs>`;
    return queryReply('DescribeStacks', namespace, `<Stacks><member>${member}</member></Stacks>`);
  };
  return {
    parse(_path, _headers, body) {
      const action = actionOf(body, ['DescribeStacks', 'ListStackResources', 'UpdateTerminationProtection']);
      const input = parseQuery(body, action, version, parameters[action]);
      const named = String(input.StackName);
      const resource = action === 'DescribeStacks' ? stackId(named, deployment.region) : arnOf(named);
      return { action, input, permissions: [{ action: `cloudformation:${action}`, resource }] };
    },
    async handle(action, input) {
      if (action === 'DescribeStacks') return describe(String(input.StackName));
      const arn = arnOf(String(input.StackName));
      if (action === 'ListStackResources') {
        const members = deployment
          .resourcesOf(arn.split('/')[1] ?? '')
          .map(
            ({ logicalId, type, id }) =>
              `<member><LogicalResourceId>${logicalId}</LogicalResourceId><PhysicalResourceId>${escapeXml(id)}</PhysicalResourceId>` +
              `<ResourceType>${type}</ResourceType><ResourceStatus>CREATE_COMPLETE</ResourceStatus></member>`,
          );
        const list = `<StackResourceSummaries>${members.join('')}</StackResourceSummaries>`;
        return queryReply(action, namespace, list);
      }
      stacks.set(arn, flag(input, 'EnableTerminationProtection'));
      return queryReply(action, namespace, `<StackId>${escapeXml(arn)}</StackId>`);
    },
  };
}

/** CloudFormation has no error of its own for this. */
function unknownStack(nameOrArn: string): AwsError {
  return new AwsError(400, 'ValidationError', `Stack with id ${nameOrArn} does not exist`);
}
