import type { LocalAccount } from '../account/account.ts';
import { type BufferedService, jsonReply, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';

/** What can be listed, with the right that the service itself asks for. */
const listed = {
  'AWS::EC2::VPC': { right: 'ec2:DescribeVpcs', member: 'VpcId', of: 'networks' },
  'AWS::Logs::ResourcePolicy': { right: 'logs:DescribeResourcePolicies', member: 'PolicyName', of: 'logPolicies' },
} as const;
const role = 'AWS::IAM::ServiceLinkedRole';

/** Cloud Control, as far as the tools use it: `ListResources` on one page, and `GetResource` of a service-linked role. */
export function cloudControl(
  account: Pick<LocalAccount, 'logPolicies' | 'networks' | 'serviceRoles'>,
): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'CloudApiService');
      const input = parseJson(body);
      const type = String(input.TypeName);
      const right = {
        ListResources: listed[type as keyof typeof listed]?.right,
        GetResource: type === role && 'iam:GetRole',
      }[action];
      if (!right) {
        throw new AwsError(400, 'UnsupportedActionException', `the local Cloud Control knows no ${action} of ${type}`);
      }
      // The API asks in the name of the caller, who needs the right of the service, too.
      const permissions = [`cloudformation:${action}`, right].map((each) => ({ action: each, resource: '*' }));
      return { action, input, permissions };
    },
    async handle(action, { TypeName: type, Identifier: name }) {
      const body = action === 'GetResource' ? get(String(name)) : list(type as keyof typeof listed);
      return jsonReply({ TypeName: type, ...body }, '1.0');
    },
  };

  function list(type: keyof typeof listed) {
    const { member, of } = listed[type];
    const described = [...account[of]].map((id) => ({ Identifier: id, Properties: JSON.stringify({ [member]: id }) }));
    return { ResourceDescriptions: described };
  }

  function get(name: string) {
    if (!account.serviceRoles.has(name)) {
      throw new AwsError(400, 'ResourceNotFoundException', `The role with name ${name} cannot be found.`);
    }
    return { ResourceDescription: { Identifier: name, Properties: JSON.stringify({ RoleName: name }) } };
  }
}
