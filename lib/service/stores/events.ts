import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { eventDetailTypes, eventSource } from '../../contract/events.ts';
import type { Events } from '../export/ports.ts';
import { errorName, isTransient } from './aws-failure.ts';
import { type RetryEnvironment, retrying } from './retry.ts';

interface EventsOptions extends RetryEnvironment {
  readonly client: Pick<EventBridgeClient, 'send'>;
  readonly busArn: string;
  readonly deployment: string;
}

/** The bus of the account, for operators' events. */
export function eventBridgeEvents({ client, busArn, deployment, ...environment }: EventsOptions): Events {
  return {
    async publish({ requestId, state }, withinMs) {
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

/** Whether a call or an entry may succeed later. `InternalFailure` is a code of entries alone. */
function passes(error: unknown): boolean {
  return errorName(error) === 'InternalFailure' || isTransient(error);
}
