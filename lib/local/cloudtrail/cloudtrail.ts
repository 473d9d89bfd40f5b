import type { LocalAccount } from '../account/account.ts';
import { type BufferedService, jsonReply, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';

/** CloudTrail, as far as the tools use it: `DescribeTrails` of all trails, with those of other regions. */
export function cloudTrail({ trails }: Pick<LocalAccount, 'trails'>): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'CloudTrail_20131101');
      const input = parseJson(body);
      if (action !== 'DescribeTrails' || input.includeShadowTrails !== true || Object.keys(input).length > 1) {
        throw new AwsError(
          400,
          'UnknownOperationException',
          `${action} in this form is not known to the local CloudTrail`,
        );
      }
      return { action, input, permissions: [{ action: `cloudtrail:${action}`, resource: '*' }] };
    },
    async handle() {
      return jsonReply({ trailList: [...trails].map((name) => ({ Name: name })) });
    },
  };
}
