import { expect, test } from 'vitest';
import { type AwsService, accessDenied, errorReply } from '../../../../lib/local/endpoint/errors.ts';

const role = 'arn:aws:iam::000000000000:role/work';
const reason = 'because no identity-based policy allows the x:Do action';
const refusal = (service: AwsService, action: string) =>
  accessDenied(service, role, { action, resource: 'arn:r' }, reason);

// Statuses and codes: the models of the services' clients, and the common errors of the API references.
test.each([
  ['s3', 's3:GetObject', 403, 'AccessDenied'],
  ['s3', 'kms:Decrypt', 403, 'AccessDenied'],
  ['rds', 'rds:ModifyDBCluster', 403, 'AccessDenied'],
  ['cloudformation', 'cloudformation:UpdateTerminationProtection', 403, 'AccessDenied'],
  ['rds-data', 'rds-data:ExecuteStatement', 403, 'AccessDeniedException'],
  ['rds-data', 'secretsmanager:GetSecretValue', 403, 'AccessDeniedException'],
  ['rds-data', 'kms:Decrypt', 400, 'SecretsErrorException'],
  ['secretsmanager', 'secretsmanager:GetSecretValue', 400, 'AccessDeniedException'],
  ['secretsmanager', 'kms:Decrypt', 400, 'AccessDeniedException'],
  ['sqs', 'sqs:SendMessage', 400, 'AccessDeniedException'],
  ['sqs', 'kms:GenerateDataKey', 400, 'KmsAccessDenied'],
  ['events', 'events:PutEvents', 400, 'AccessDeniedException'],
  ['kms', 'kms:Sign', 400, 'AccessDeniedException'],
] as const)('%s refuses %s with %i %s', (service, action, status, code) => {
  const error = refusal(service, action);
  expect([error.status, error.code]).toEqual([status, code]);
  const { body, headers } = errorReply(service, error);
  expect(`${body} ${JSON.stringify(headers)}`).toContain(code);
});
