import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { countBy, reportDamage } from '../../../../lambdas/shared/observability.ts';
import type { FailureStage } from '../../../../lib/contract/metrics.ts';
import { damaged } from '../../../../lib/errors.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { metricsOf } from '../../../helpers/sqs-event.ts';

let log: ReturnType<typeof captureOutput>;
beforeEach(() => {
  log = captureOutput();
});
afterEach(() => log.restore());

test('a metric names its deployment, so that alarms distinguish it from others in the account', () => {
  reportDamage(damaged('the body is missing'));
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

describe('a metric with a breakdown', () => {
  const sets = () =>
    log
      .documents()
      .map((line) => (line as never as { _aws: { CloudWatchMetrics: [{ Dimensions: string[][] }] } })._aws)
      .map(({ CloudWatchMetrics: [{ Dimensions }] }) => Dimensions.map((set) => set.toSorted()));

  test('counts in total, for alarms, and by its value', () => {
    countBy('FileGivenUp', 'no_answer', 3);
    expect(log.documents()).toEqual([expect.objectContaining({ FileGivenUp: 3, reason: 'no_answer' })]);
    expect(sets()).toEqual([
      [
        ['deployment', 'service'],
        ['deployment', 'reason', 'service'],
      ],
    ]);
  });

  test('has no value beyond its list', () => {
    countBy('ExportRejected', 'EGAD00000000001');
    countBy('MessageFailed', 'elsewhere' as FailureStage);
    expect(metricsOf(log.documents())).toEqual([
      { ExportRejected: 1, reason: 'other' },
      { MessageFailed: 1, stage: 'other' },
    ]);
  });
});
