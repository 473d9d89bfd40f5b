import { SQSClient } from '@aws-sdk/client-sqs';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { ForbiddenError } from '../../errors.ts';
import type { AwsClientOptions } from '../aws-client-options.ts';
import { errorName, storeFailure } from '../aws-failure.ts';

/**
 * Client for SQS under a role that it takes on before its first call, for an hour at a time.
 *
 * @returns a client whose calls throw ForbiddenError when the caller may not take on the role
 */
export function redriveClient(
  roleArn: string,
  options: { readonly sqs: Omit<AwsClientOptions, 'credentials'>; readonly sts: AwsClientOptions },
): SQSClient {
  const sts = new STSClient(options.sts);
  return new SQSClient({ ...options.sqs, credentials: () => assume(roleArn, sts) });
}

async function assume(roleArn: string, sts: STSClient) {
  const input = { RoleArn: roleArn, RoleSessionName: 'data-out-ops' };
  const { Credentials: given } = await sts.send(new AssumeRoleCommand(input)).catch((error: unknown) => {
    if (errorName(error) !== 'AccessDenied') throw storeFailure(error, 'STS');
    throw new ForbiddenError(
      `these credentials may not take on the role ${roleArn}: allow sts:AssumeRole on it in their own policies, or deploy the service stack if the role is gone`,
      { cause: error },
    );
  });
  if (!given?.AccessKeyId || !given.SecretAccessKey) throw new Error('STS gave no credentials');
  return {
    accessKeyId: given.AccessKeyId,
    secretAccessKey: given.SecretAccessKey,
    ...(given.SessionToken && { sessionToken: given.SessionToken }),
    ...(given.Expiration && { expiration: given.Expiration }),
  };
}
