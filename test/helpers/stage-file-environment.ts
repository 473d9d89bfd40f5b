/** The environment that the function `stage-file` starts with. */
export const stageFileEnvironment = {
  AWS_REGION: 'eu-north-1',
  ARCHIVE_BUCKETS: 'archive',
  OUTBOX_BUCKET: 'outbox',
  ARCHIVE_KEYS_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:keys',
  VISA_DENY_LIST_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:denied',
  DATABASE_CLUSTER_ARN: 'arn:aws:rds:eu-north-1:123456789012:cluster:c',
  DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:db',
  DATABASE_NAME: 'sda',
  FILE_EXPORTS_QUEUE_URL: 'https://sqs.example/123456789012/file-exports',
  SMALL_FILE_EXPORTS_QUEUE_URL: 'https://sqs.example/123456789012/small-file-exports',
  DELIVERIES_QUEUE_URL: 'https://sqs.example/123456789012/deliveries',
  FILES_IN_FLIGHT: '110',
};
