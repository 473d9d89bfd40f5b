import { type BufferedService, queryService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Credentials } from '../iam/credentials.ts';
import { statementsOfRole } from '../iam/roles.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId } from '../template/names.ts';

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
  return queryService(
    { namespace: 'https://sts.amazonaws.com/doc/2011-06-15/', prefix: 'sts' },
    {
      GetCallerIdentity: {
        parameters: [],
        // It needs none (API reference, GetCallerIdentity).
        permissions: () => [],
        run(_, { authorization = '' }) {
          const [, accessKeyId = ''] = /Credential=([^/]+)/.exec(authorization) ?? [];
          return { Account: accountId, Arn: credentials.find(accessKeyId)?.arn ?? '', UserId: accessKeyId };
        },
      },
      AssumeRole: {
        parameters: ['RoleArn', 'RoleSessionName'],
        resource: ({ RoleArn: arn = '' }) => arn,
        run({ RoleArn: arn = '', RoleSessionName: session }) {
          const name = arn.split('/').at(-1) ?? '';
          const principal = credentials.issueForRole(name, arn, statementsFor(arn));
          return {
            Credentials: {
              AccessKeyId: principal.accessKeyId,
              SecretAccessKey: principal.secretAccessKey,
              SessionToken: principal.sessionToken ?? '',
              Expiration: new Date(now().getTime() + lifetimeMs).toISOString(),
            },
            AssumedRoleUser: {
              AssumedRoleId: `AROALOCAL:${session}`,
              Arn: `arn:aws:sts::${accountId}:assumed-role/${name}/${session}`,
            },
          };
        },
      },
    },
  );
}
