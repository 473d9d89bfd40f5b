import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { RequestState } from '../../contract/delivery.ts';
import { eventDetailTypes, eventSource } from '../../contract/events.ts';
import { errorName, isTransient } from './aws-failure.ts';
import { type RetryEnvironment, retrying } from './retry.ts';

interface EventsOptions extends RetryEnvironment {
  readonly client: Pick<EventBridgeClient, 'send'>;
  readonly busArn: string;
  readonly deployment: string;
}

/** What operators learn of a request. The event adds the deployment, and nothing else. */
export interface OperatorEvent {
  readonly requestId: string;
  readonly state: RequestState;
}

/** The bus of the account, for operators' events. The rows of requests are the truth: an event may be lost, or come twice. */
export function eventBridgeEvents({ client, busArn, deployment, ...environment }: EventsOptions) {
  return {
    /** Send an event, and again for a while if it is not taken. @param withinMs milliseconds after which it gives up */
    async publish({ requestId, state }: OperatorEvent, withinMs: number): Promise<void> {
      const entry = {
        EventBusName: busArn,
        Source: eventSource,
        DetailType: eventDetailTypes[state],
        Detail: JSON.stringify({ requestId, state, deployment }),
      };
      const put = async (remainingMs: number) => {
        const { FailedEntryCount: failures = 0, Entries: [answer] = [] } = await client.send(
          new PutEventsCommand({ Entries: [entry] }),
          { abortSignal: AbortSignal.timeout(remainingMs) },
        );
        // A call that succeeds can refuse its entry.
        const { ErrorCode: name = 'InternalFailure', ErrorMessage: message } = answer ?? {};
        if (failures > 0) throw Object.assign(new Error(message), { name });
      };
      await retrying(put, { ...environment, budgetMs: withinMs, isRetryable: passes, what: 'EventBridge' });
    },
  };
}

export type Events = ReturnType<typeof eventBridgeEvents>;

/** Whether a call or an entry may succeed later. `InternalFailure` is a code of entries alone. */
function passes(error: unknown): boolean {
  return errorName(error) === 'InternalFailure' || isTransient(error);
}
