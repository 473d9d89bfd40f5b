import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError, escapeXml } from '../endpoint/errors.ts';
import { parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import type { Credentials } from '../iam/credentials.ts';
import { statementsOfRole, trusts } from '../iam/roles.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId, shortName } from '../template/names.ts';

const action = 'AssumeRole';
const account = { AWS: `arn:aws:iam::${accountId}:root` };
const lifetimeMs = 60 * 60_000;

/** STS, as far as the operator's tool uses it: `AssumeRole`, for the roles that trust the account. */
export function sts(deployment: Deployment, credentials: Credentials, now: () => Date): BufferedService {
  const assumable = (arn: unknown) =>
    deployment.resources('AWS::IAM::Role').find((role) => role.attribute('Arn') === arn && trusts(role, account));
  return {
    parse(_path, _headers, body) {
      const input = parseQuery(body, action, '2011-06-15', ['RoleArn', 'RoleSessionName']);
      return { action, input, permissions: [{ action: `sts:${action}`, resource: String(input.RoleArn) }] };
    },
    async handle(_action, { RoleArn: arn, RoleSessionName: session }) {
      const role = assumable(arn);
      if (!role) {
        throw new AwsError(403, 'AccessDenied', `not authorized to perform: sts:${action} on resource: ${String(arn)}`);
      }
      const principal = credentials.issueForRole(
        shortName(role.path.replace('/Role/Resource', '')),
        String(arn),
        statementsOfRole(String(arn), account, deployment),
      );
      const given = {
        AccessKeyId: principal.accessKeyId,
        SecretAccessKey: principal.secretAccessKey,
        SessionToken: principal.sessionToken ?? '',
        Expiration: new Date(now().getTime() + lifetimeMs).toISOString(),
      };
      const user = {
        AssumedRoleId: `AROALOCAL:${String(session)}`,
        Arn: `arn:aws:sts::${accountId}:assumed-role/${role.id}/${String(session)}`,
      };
      const xml = `<Credentials>${elements(given)}</Credentials><AssumedRoleUser>${elements(user)}</AssumedRoleUser>`;
      return queryReply(action, 'https://sts.amazonaws.com/doc/2011-06-15/', xml);
    },
  };
}

function elements(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`)
    .join('');
}
