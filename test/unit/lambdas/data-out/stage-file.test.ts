import { afterEach, expect, test, vi } from 'vitest';
import { lambdaContext, sqsEvent } from '../../../helpers/sqs-event.ts';

const variables = {
  AWS_REGION: 'eu-north-1',
  ARCHIVE_BUCKETS: 'archive',
  OUTBOX_BUCKET: 'outbox',
  ARCHIVE_KEYS_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:keys',
  VISA_DENY_LIST_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:denied',
  DATABASE_CLUSTER_ARN: 'arn:aws:rds:eu-north-1:123456789012:cluster:c',
  DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:db',
  DATABASE_NAME: 'sda',
  FILE_EXPORTS_QUEUE_URL: 'https://sqs.example/123456789012/file-exports',
  RETRY_DELAYS_SECONDS: '10,60,300,900',
};

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

test('the function starts from its environment alone', async () => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const { handler } = await import('../../../../lambdas/data-out/stage-file.ts');
  expect(await handler(sqsEvent(), lambdaContext())).toEqual({ batchItemFailures: [] });
});

test.each(Object.keys(variables).filter((name) => name !== 'AWS_REGION'))(
  'without %s it does not start',
  async (missing) => {
    for (const [name, value] of Object.entries(variables)) if (name !== missing) vi.stubEnv(name, value);
    await expect(import('../../../../lambdas/data-out/stage-file.ts')).rejects.toThrow(missing);
  },
);
