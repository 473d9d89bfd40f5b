import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError, escapeXml } from '../endpoint/errors.ts';
import { parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Credentials } from '../iam/credentials.ts';
import { statementsOfRole } from '../iam/roles.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId } from '../template/names.ts';

const action = 'AssumeRole';
const accountRoot = `arn:aws:iam::${accountId}:root`;
const lifetimeMs = 60 * 60_000;

/** STS, as far as the operator's tool uses it: `AssumeRole`, for the roles that trust the account. */
export function sts(deployment: Deployment, credentials: Credentials, now: () => Date): BufferedService {
  const statementsFor = (roleArn: string) => {
    try {
      return statementsOfRole(roleArn, accountRoot, deployment);
    } catch (error) {
      // AWS does not tell a role that is missing from one that does not trust the caller.
      if (!(error instanceof UnsupportedTemplateError)) throw error;
      throw new AwsError(403, 'AccessDenied', `not authorized to perform: sts:${action} on resource: ${roleArn}`);
    }
  };
  return {
    parse(_path, _headers, body) {
      const input = parseQuery(body, action, '2011-06-15', ['RoleArn', 'RoleSessionName']);
      return { action, input, permissions: [{ action: `sts:${action}`, resource: String(input.RoleArn) }] };
    },
    async handle(_action, { RoleArn: arn, RoleSessionName: session }) {
      const roleArn = String(arn);
      const name = roleArn.split('/').at(-1) ?? '';
      const principal = credentials.issueForRole(name, roleArn, statementsFor(roleArn));
      const given = {
        AccessKeyId: principal.accessKeyId,
        SecretAccessKey: principal.secretAccessKey,
        SessionToken: principal.sessionToken ?? '',
        Expiration: new Date(now().getTime() + lifetimeMs).toISOString(),
      };
      const user = {
        AssumedRoleId: `AROALOCAL:${String(session)}`,
        Arn: `arn:aws:sts::${accountId}:assumed-role/${name}/${String(session)}`,
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
