import type { LocalAccount } from '../account/account.ts';
import { type BufferedService, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';

const network = 'AWS::EC2::VPC';

/** Cloud Control, as far as the tools use it: `ListResources` of VPCs, all on one page. */
export function cloudControl({ networks }: Pick<LocalAccount, 'networks'>): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'CloudApiService');
      if (action !== 'ListResources') {
        throw new AwsError(400, 'UnsupportedActionException', `${action} is not known to the local Cloud Control`);
      }
      const input = parseJson(body);
      if (input.TypeName !== network) {
        throw new AwsError(400, 'UnsupportedActionException', `the local Cloud Control lists ${network} alone`);
      }
      // The API asks in the name of the caller, who needs the right of the service, too.
      const permissions = ['cloudformation:ListResources', 'ec2:DescribeVpcs'].map((each) => ({
        action: each,
        resource: '*',
      }));
      return { action, input, permissions };
    },
    async handle() {
      const described = [...networks].map((id) => ({ Identifier: id, Properties: JSON.stringify({ VpcId: id }) }));
      return {
        status: 200,
        headers: { 'content-type': 'application/x-amz-json-1.0' },
        body: JSON.stringify({ TypeName: network, ResourceDescriptions: described }),
      };
    },
  };
}
