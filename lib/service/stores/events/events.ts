import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { eventDetailTypes, eventSource, type OperatorEvent } from '../../../contract/events.ts';
import type { Events, LostEvent } from '../../export/ports.ts';
import { errorName, isTransient } from '../aws-failure.ts';
import { type RetryEnvironment, retrying } from '../retry.ts';

interface EventsOptions extends RetryEnvironment {
  readonly client: Pick<EventBridgeClient, 'send'>;
  readonly busArn: string;
  /** Name of the service stack. */
  readonly deployment: string;
}

export class EventBridgeEvents implements Events {
  readonly #options: EventsOptions;

  constructor(options: EventsOptions) {
    this.#options = options;
  }

  async publish(events: readonly OperatorEvent[], withinMs: number): Promise<readonly LostEvent[]> {
    let left = events;
    const refused: LostEvent[] = [];
    const attempt = async (remainingMs: number) => {
      const failed = await this.#put(left, remainingMs);
      refused.push(...failed.filter(({ error }) => !passes(error)));
      const again = failed.filter(({ error }) => passes(error));
      left = again.map(({ event }) => event);
      if (again[0]) throw again[0].error;
    };
    try {
      await retrying(attempt, { ...this.#options, budgetMs: withinMs, isRetryable: passes, what: 'EventBridge' });
      return refused;
    } catch (error) {
      return [...refused, ...left.map((event) => ({ event, error }))];
    }
  }

  /** One call. A call that succeeds can refuse single entries: they are returned. */
  async #put(events: readonly OperatorEvent[], remainingMs: number): Promise<readonly LostEvent[]> {
    const { client, busArn, deployment } = this.#options;
    const { FailedEntryCount: failures = 0, Entries: entries = [] } = await client.send(
      new PutEventsCommand({
        Entries: events.map(({ exportId, state }) => ({
          EventBusName: busArn,
          Source: eventSource,
          DetailType: eventDetailTypes[state],
          Detail: JSON.stringify({ requestId: exportId, state, deployment }),
        })),
      }),
      { abortSignal: AbortSignal.timeout(remainingMs) },
    );
    if (failures === 0) return [];
    return events.flatMap((event, index) => {
      const { EventId: id, ErrorCode: name = 'InternalFailure', ErrorMessage: message } = entries[index] ?? {};
      return id === undefined ? [{ event, error: Object.assign(new Error(message), { name }) }] : [];
    });
  }
}

/** Whether a call or an entry may succeed later. `InternalFailure` is a code of entries alone. */
function passes(error: unknown): boolean {
  return errorName(error) === 'InternalFailure' || isTransient(error);
}
