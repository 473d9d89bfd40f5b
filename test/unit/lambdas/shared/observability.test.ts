import { afterEach, beforeEach, expect, test } from 'vitest';
import { reportDamage } from '../../../../lambdas/shared/observability.ts';
import { ArchiveDamagedError } from '../../../../lib/errors.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';

let log: ReturnType<typeof captureOutput>;
beforeEach(() => {
  log = captureOutput();
});
afterEach(() => log.restore());

test('a metric names its deployment, so that the alarm tells it from others of the account', () => {
  reportDamage(new ArchiveDamagedError('the body is missing'));
  const [line] = log.documents();
  expect(line).toMatchObject({ ArchiveDamaged: 1, deployment: 'DataOutService-test', service: 'data-out' });
  // EMF: a metric has one identity for each set of dimensions.
  expect(line).toMatchObject({
    _aws: { CloudWatchMetrics: [{ Namespace: 'DataOut', Dimensions: [expect.any(Array)] }] },
  });
  const [{ Dimensions }] = (line as never as { _aws: { CloudWatchMetrics: [{ Dimensions: [string[]] }] } })._aws
    .CloudWatchMetrics;
  expect(Dimensions[0].sort()).toEqual(['deployment', 'service']);
});
