import { randomUUID } from 'node:crypto';
import { type JsonObject, jsonService, parseJson } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { accountId } from '../template/names.ts';
import { list, record } from '../template/template.ts';

/** An event as a rule of EventBridge sees it (user guide, event structure), without account, region and resources. */
interface BusEvent {
  readonly id: string;
  readonly source: string;
  readonly 'detail-type': string;
  /** When it came, ISO 8601. */
  readonly time: string;
  readonly detail: JsonObject;
}

/** Events that the bus remembers. */
const kept = 1000;

/**
 * The default bus of EventBridge. It has no rules: it remembers the last thousand events, the oldest first, and shows each to
 * `onEvent`. `PutEvents` is the one action that is known.
 */
export function eventBus(region: string, now: () => Date, onEvent: (event: BusEvent) => void) {
  const defaultArn = `arn:aws:events:${region}:${accountId}:event-bus/default`;
  const events: BusEvent[] = [];
  const arnOf = (bus: unknown = 'default') => {
    if (bus === 'default' || bus === defaultArn) return defaultArn;
    throw new AwsError(400, 'ResourceNotFoundException', `Event bus ${String(bus)} does not exist.`);
  };
  const put = (entry: JsonObject) => {
    const event = {
      id: randomUUID(),
      source: String(entry.Source),
      'detail-type': String(entry.DetailType),
      time: now().toISOString(),
      detail: parseJson(Buffer.from(String(entry.Detail))),
    };
    events.push(event);
    if (events.length > kept) events.shift();
    onEvent(event);
    return { EventId: event.id };
  };
  const service = jsonService(
    { target: 'AWSEvents', prefix: 'events' },
    {
      PutEvents: {
        permissions: (input) =>
          entriesOf(input).map((entry) => ({
            action: 'events:PutEvents',
            resource: arnOf(entry.EventBusName),
            context: { 'events:source': String(entry.Source), 'events:detail-type': String(entry.DetailType) },
          })),
        run: (input) => ({ FailedEntryCount: 0, Entries: entriesOf(input).map(put) }),
      },
    },
  );
  return { service, events: events as readonly BusEvent[] };
}

const entriesOf = ({ Entries }: JsonObject): readonly JsonObject[] => list(Entries).map(record);
