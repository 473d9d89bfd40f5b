import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { actionOf, elements, parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Credentials } from '../iam/credentials.ts';
import { statementsOfRole } from '../iam/roles.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId } from '../template/names.ts';

const version = '2011-06-15';
const namespace = `https://sts.amazonaws.com/doc/${version}/`;
const accountRoot = `arn:aws:iam::${accountId}:root`;
const lifetimeMs = 60 * 60_000;

/** STS, as far as the tools use it: `AssumeRole`, for the roles that trust the account, and `GetCallerIdentity`. */
export function sts(deployment: Deployment, credentials: Credentials, now: () => Date): BufferedService {
  const statementsFor = (roleArn: string) => {
    try {
      return statementsOfRole(roleArn, accountRoot, deployment);
    } catch (error) {
      // AWS does not tell a role that is missing from one that does not trust the caller.
      if (!(error instanceof UnsupportedTemplateError)) throw error;
      throw new AwsError(403, 'AccessDenied', `not authorized to perform: sts:AssumeRole on resource: ${roleArn}`);
    }
  };
  return {
    parse(_path, _headers, body) {
      const action = actionOf(body, ['AssumeRole', 'GetCallerIdentity']);
      // This needs no permission (API reference, GetCallerIdentity).
      if (action === 'GetCallerIdentity') {
        return { action, input: parseQuery(body, action, version, []), permissions: [] };
      }
      const input = parseQuery(body, action, version, ['RoleArn', 'RoleSessionName']);
      return { action, input, permissions: [{ action: `sts:${action}`, resource: String(input.RoleArn) }] };
    },
    async handle(action, { RoleArn: arn, RoleSessionName: session }, _body, { authorization = '' }) {
      if (action === 'GetCallerIdentity') {
        const [, accessKeyId = ''] = /Credential=([^/]+)/.exec(authorization) ?? [];
        const caller = { Account: accountId, Arn: credentials.find(accessKeyId)?.arn ?? '', UserId: accessKeyId };
        return queryReply(action, namespace, elements(caller));
      }
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
      return queryReply(action, namespace, xml);
    },
  };
}
