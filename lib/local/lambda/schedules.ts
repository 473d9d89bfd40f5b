import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, type Resource, record, text, whereOf } from '../template/template.ts';
import type { Functions } from './functions.ts';

const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const event = { source: 'aws.events', 'detail-type': 'Scheduled Event', detail: {} };

/**
 * EventBridge's schedules: call functions at the rates of the template's rules, for the first time when one period is over.
 *
 * @returns a function that ends them
 * @throws UnsupportedTemplateError for a schedule that is not a rate
 */
export function startSchedules(deployment: Deployment, functions: Pick<Functions, 'invoke'>): () => void {
  const timers = deployment
    .resources('AWS::Events::Rule')
    .filter((rule) => rule.property('ScheduleExpression') !== undefined)
    .flatMap((rule) => {
      const everyMs = periodOf(rule);
      return list(rule.property('Targets')).map((target) => {
        // A failure is in the function's log.
        const run = () => void functions.invoke(String(record(target).Arn), event).catch(() => undefined);
        return setInterval(run, everyMs);
      });
    });
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

function periodOf(rule: Resource): number {
  const expression = text(rule, 'ScheduleExpression');
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const periodMs = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (!(periodMs > 0)) throw new UnsupportedTemplateError(whereOf(rule), `${expression} is not a rate`);
  return periodMs;
}
