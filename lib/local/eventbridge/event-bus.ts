import { randomUUID } from 'node:crypto';
import { type BufferedService, type JsonObject, jsonService, parseJson } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { accountId } from '../template/names.ts';
import { list, record } from '../template/template.ts';

/** An event as a rule of EventBridge sees it (user guide, event structure), without account, region and resources. */
export interface BusEvent {
  readonly id: string;
  readonly source: string;
  readonly 'detail-type': string;
  /** When it came, ISO 8601. */
  readonly time: string;
  readonly detail: JsonObject;
}

/** Events that the bus remembers. */
const kept = 1000;
/** The default bus of EventBridge. It has no rules: it remembers the last thousand events, and shows each to `onEvent`. */
export class EventBus {
  readonly #arn: string;
  readonly #now: () => Date;
  readonly #onEvent: (event: BusEvent) => void;
  readonly #events: BusEvent[] = [];

  constructor(region: string, now: () => Date, onEvent: (event: BusEvent) => void) {
    this.#arn = `arn:aws:events:${region}:${accountId}:event-bus/default`;
    this.#now = now;
    this.#onEvent = onEvent;
  }

  /** The oldest first. */
  get events(): readonly BusEvent[] {
    return this.#events;
  }

  /** `PutEvents`, the one action that is known. */
  service(): BufferedService {
    return jsonService(
      { target: 'AWSEvents', prefix: 'events' },
      {
        PutEvents: {
          permissions: (input) =>
            entriesOf(input).map((entry) => ({
              action: 'events:PutEvents',
              resource: this.#arnOf(entry.EventBusName),
              context: { 'events:source': String(entry.Source), 'events:detail-type': String(entry.DetailType) },
            })),
          run: (input) => {
            return { FailedEntryCount: 0, Entries: entriesOf(input).map((entry) => this.#put(entry)) };
          },
        },
      },
    );
  }

  /** @throws AwsError for another bus than the default one */
  #arnOf(bus: unknown): string {
    if (bus === undefined || bus === 'default' || bus === this.#arn) return this.#arn;
    throw new AwsError(400, 'ResourceNotFoundException', `Event bus ${String(bus)} does not exist.`);
  }

  #put(entry: JsonObject): { EventId: string } {
    const event = {
      id: randomUUID(),
      source: String(entry.Source),
      'detail-type': String(entry.DetailType),
      time: this.#now().toISOString(),
      detail: parseJson(Buffer.from(String(entry.Detail))),
    };
    this.#events.push(event);
    if (this.#events.length > kept) this.#events.shift();
    this.#onEvent(event);
    return { EventId: event.id };
  }
}

const entriesOf = ({ Entries }: JsonObject): readonly JsonObject[] => list(Entries).map(record);
