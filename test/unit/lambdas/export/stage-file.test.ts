import { afterEach, expect, test, vi } from 'vitest';
import { lambdaContext, sqsEvent } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment as variables } from '../../../helpers/stage-file-environment.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

test('the function starts from its environment alone', async () => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const { handler } = await import('../../../../lambdas/export/stage-file.ts');
  expect(await handler(sqsEvent(), lambdaContext())).toEqual({ batchItemFailures: [] });
});

test.each(['OUTBOX_BUCKET', 'DATABASE_SECRET_ARN'])('without %s it does not start', async (missing) => {
  for (const [name, value] of Object.entries(variables)) if (name !== missing) vi.stubEnv(name, value);
  await expect(import('../../../../lambdas/export/stage-file.ts')).rejects.toThrow(missing);
});
