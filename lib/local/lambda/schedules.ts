import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, type Resource, record, text, whereOf } from '../template/template.ts';
import type { Functions } from './functions.ts';

/** One target of a rule. */
interface Scheduled {
  readonly functionArn: string;
  readonly everyMs: number;
  /** What the function gets. */
  readonly event: unknown;
}

const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * EventBridge's schedules: calls functions at the rates of the template's rules, for the first time when one period is over.
 * A run that has not ended skips the next.
 */
export class Schedules {
  readonly #timers: readonly NodeJS.Timeout[];

  /** Start them. @throws UnsupportedTemplateError for a schedule that is not a rate */
  constructor(deployment: Deployment, functions: Pick<Functions, 'invoke'>) {
    const schedules = readSchedules(deployment);
    this.#timers = schedules.map(({ functionArn, everyMs, event }) => {
      let isRunning = false;
      const run = async () => {
        if (isRunning) return;
        isRunning = true;
        try {
          await functions.invoke(functionArn, event);
        } finally {
          isRunning = false;
        }
      };
      // A failure is in the function's log.
      return setInterval(() => void run().catch(() => undefined), everyMs);
    });
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }
}

function readSchedules(deployment: Deployment): readonly Scheduled[] {
  return deployment
    .resources('AWS::Events::Rule')
    .filter((rule) => rule.property('ScheduleExpression') !== undefined && rule.property('State') !== 'DISABLED')
    .flatMap((rule) => {
      const everyMs = periodOf(rule);
      return list(rule.property('Targets')).map((target) => ({
        functionArn: String(record(target).Arn),
        everyMs,
        event: eventOf(record(target)),
      }));
    });
}

/** The target's constant input, or a scheduled event as rules send it. */
function eventOf({ Input: input }: Readonly<Record<string, unknown>>): unknown {
  if (input === undefined) return { source: 'aws.events', 'detail-type': 'Scheduled Event', detail: {} };
  return JSON.parse(String(input)) as unknown;
}

function periodOf(rule: Resource): number {
  const expression = text(rule, 'ScheduleExpression');
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const periodMs = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (!(periodMs > 0)) throw new UnsupportedTemplateError(whereOf(rule), `${expression} is not a rate`);
  return periodMs;
}
