import type { LocalAccount } from '../account/account.ts';
import { type BufferedService, jsonReply, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { accountId } from '../template/names.ts';

/** Service Quotas, as far as the tools use it: `GetServiceQuota`. */
export function serviceQuotas({ quotas }: Pick<LocalAccount, 'quotas'>, region: string): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'ServiceQuotasV20190624');
      if (action !== 'GetServiceQuota') {
        throw new AwsError(400, 'UnknownOperationException', `${action} is not known to the local Service Quotas`);
      }
      const input = parseJson(body);
      const resource = `arn:aws:servicequotas:${region}:${accountId}:${input.ServiceCode}/${input.QuotaCode}`;
      return { action, input, permissions: [{ action: `servicequotas:${action}`, resource }] };
    },
    async handle(_action, { ServiceCode, QuotaCode }) {
      const value = quotas.get(`${ServiceCode}/${QuotaCode}`);
      if (value === undefined) throw new AwsError(400, 'NoSuchResourceException', 'The request failed: no such quota.');
      return jsonReply({ Quota: { ServiceCode, QuotaCode, Value: value } });
    },
  };
}
