import type { LocalAccount } from '../account/account.ts';
import { type BufferedService, jsonReply, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';

/** Certificate Manager, as far as the tools use it: `DescribeCertificate`. */
export function acm({ certificates }: Pick<LocalAccount, 'certificates'>): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'CertificateManager');
      if (action !== 'DescribeCertificate') {
        throw new AwsError(400, 'UnknownOperationException', `${action} is not known to the local Certificate Manager`);
      }
      const input = parseJson(body);
      return { action, input, permissions: [{ action: `acm:${action}`, resource: String(input.CertificateArn) }] };
    },
    async handle(_action, { CertificateArn: arn }) {
      const found = certificates.get(String(arn));
      if (!found) throw new AwsError(400, 'ResourceNotFoundException', `Could not find certificate ${arn}.`);
      const { status, names } = found;
      return jsonReply({
        Certificate: { CertificateArn: arn, DomainName: names[0], SubjectAlternativeNames: names, Status: status },
      });
    },
  };
}
