import type { Cloud } from './cloud.ts';

/** What a pass does not prove, by the patch in `emulator/gaps`, or by what the emulator lacks without one. */
export const unproven: Readonly<Record<string, string>> = {
  'nothing for keys':
    'that a role may use a key: calls to KMS are checked, the use of a key by S3, SQS, Secrets Manager or the Data API is not',
  'nothing for quotas':
    'that the account has room: Service Quotas, reserved concurrency and limits of templates are not known',
  'nothing for limits of API Gateway':
    'that it refuses URLs, headers and bodies that are too long: the check limits may fail there',
  'nothing for time':
    'that permissions, secrets and stacks spread in time: everything is consistent at once, and no database sleeps',
  'PostgreSQL of this machine':
    'that Aurora PostgreSQL accepts each statement, or that the Data API keeps its limits of size and time',
  alarms_of_metric_math: 'that an alarm of metric math fires',
  api_host_names: "that API Gateway's names lead to the APIs, or that they have TLS of AWS",
  authorizer_context_in_responses: 'that a gateway response has the code of the authorizer',
  batches_of_sqs: 'that IAM allows a batch by the right of the single call',
  database_without_container: 'that the Data API reaches the cluster',
  encoded_paths: 'that a parameter of a path is decoded once',
  errors_of_the_data_api: 'that a failed statement has this error, with its SQLSTATE',
  invocations_in_progress: 'that an invocation outlives the update of its function',
  managed_password: 'that RDS makes the secret of the owner, or what rights the owner has',
  offer_of_serverless: 'that the region offers the engine and the Data API',
  password_commands: 'that a login cannot change its password from inside a block',
  principal_arn: 'that conditions on aws:PrincipalArn see the role',
  repeated_headers: 'that a function sees each value of a repeated header',
  request_ids: 'that a function is told the request id that the caller gets',
  secrets_by_arn: 'that Ref of a secret is its ARN',
  streamed_functions: 'that a function streams: its reply is gathered first',
  streamed_integrations: 'that API Gateway passes a streamed reply on',
  types_of_the_data_api: 'that the Data API binds and returns these types',
  whole_object_checksums: 'that S3 keeps and compares CRC-64/NVME over a whole object',
  'a copy in PostgreSQL': 'that RDS restores a cluster to a point in time',
};

/** The end of a run that passed. */
export function notProven({ open, byItself }: Cloud['gaps']): string {
  const left = Object.entries(unproven).filter(([name]) => !byItself.includes(name));
  const lines = left.map(([name, what]) => `- ${open.includes(name) ? `patch ${name}` : name}: ${what}\n`);
  const closed = byItself.map((name) => `The emulator has closed the gap ${name} automatically: remove its patch.\n`);
  return ['This does not prove:\n', ...lines, ...closed].join('');
}
