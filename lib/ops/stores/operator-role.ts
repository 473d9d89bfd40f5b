import { SQSClient } from '@aws-sdk/client-sqs';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { DataOutError } from '../../errors.ts';
import { errorName, storeFailure } from '../../service/stores/aws-failure.ts';
import type { AwsClientOptions } from '../../service/stores/clients.ts';

/**
 * Client for SQS under the role that the work queues admit. It takes the role on before its first call, for an hour at a time.
 * @returns a client whose calls throw `forbidden` when the caller may not take on the role
 */
export function operatorQueues(roleArn: string, clientOptions: (service: 'sqs' | 'sts') => AwsClientOptions) {
  const sts = new STSClient(clientOptions('sts'));
  return new SQSClient({ ...clientOptions('sqs'), credentials: () => assume(roleArn, sts) });
}

async function assume(roleArn: string, sts: STSClient) {
  const input = { RoleArn: roleArn, RoleSessionName: 'data-out-ops' };
  const { Credentials: given } = await sts.send(new AssumeRoleCommand(input)).catch((error: unknown) => {
    if (errorName(error) !== 'AccessDenied') throw storeFailure(error, 'STS');
    const message = `these credentials may not take on the role ${roleArn}: allow sts:AssumeRole on it in their own policies, or deploy the service stack if the role is gone`;
    throw new DataOutError('forbidden', message, { cause: error });
  });
  if (!given?.AccessKeyId || !given.SecretAccessKey) throw new Error('STS gave no credentials');
  return {
    accessKeyId: given.AccessKeyId,
    secretAccessKey: given.SecretAccessKey,
    ...(given.SessionToken && { sessionToken: given.SessionToken }),
    ...(given.Expiration && { expiration: given.Expiration }),
  };
}
