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
/** Limits of PutEvents: entries of a call, and bytes of an entry. */
const mostEntries = 10;
const longestEntry = 256 * 1024;

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
            const entries = entriesOf(input).map((entry) => this.#put(entry));
            return { FailedEntryCount: entries.filter((entry) => 'ErrorCode' in entry).length, Entries: entries };
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

  #put(entry: JsonObject): { EventId: string } | { ErrorCode: string; ErrorMessage: string } {
    const missing = ['Source', 'DetailType', 'Detail'].find((name) => typeof entry[name] !== 'string' || !entry[name]);
    if (missing !== undefined) {
      const reason = `Parameter ${missing} is not valid. Reason: ${missing} is a required argument.`;
      return { ErrorCode: 'InvalidArgument', ErrorMessage: reason };
    }
    const source = String(entry.Source);
    if (source.startsWith('aws.')) {
      return { ErrorCode: 'NotAuthorizedForSourceException', ErrorMessage: 'Not authorized for the source.' };
    }
    const detail = jsonObject(String(entry.Detail));
    if (detail === undefined) return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
    const event = {
      id: randomUUID(),
      source,
      'detail-type': String(entry.DetailType),
      time: this.#now().toISOString(),
      detail,
    };
    this.#events.push(event);
    if (this.#events.length > kept) this.#events.shift();
    this.#onEvent(event);
    return { EventId: event.id };
  }
}

/** Parameters of an entry that are understood here. */
const parameters: ReadonlySet<string> = new Set(['Source', 'DetailType', 'Detail', 'EventBusName']);

/** The entries of a call. @throws AwsError when there are too many, or one is too large or has an unknown parameter */
function entriesOf(input: JsonObject): readonly JsonObject[] {
  const entries = list(input.Entries).map(record);
  const invalid = (message: string) => new AwsError(400, 'ValidationException', message);
  if (entries.length < 1 || entries.length > mostEntries) throw invalid(`Entries has 1 to ${mostEntries} members`);
  for (const entry of entries) {
    const unknown = Object.keys(entry).find((name) => !parameters.has(name));
    if (unknown !== undefined) throw invalid(`${unknown} is not known to the local EventBridge`);
    if (sizeOf(entry) >= longestEntry) throw invalid('Total size of the entries in the request is over the limit.');
  }
  return entries;
}

/** EventBridge user guide, size of an entry. */
function sizeOf({ Source, DetailType, Detail }: JsonObject): number {
  return [Source, DetailType, Detail].reduce<number>((sum, text) => sum + Buffer.byteLength(String(text ?? '')), 0);
}

function jsonObject(text: string): JsonObject | undefined {
  try {
    return parseJson(Buffer.from(text));
  } catch {
    return undefined;
  }
}
