import { beforeEach, expect, test } from 'vitest';
import { AwsError } from '../../../../lib/local/endpoint/errors.ts';
import { type BusEvent, EventBus } from '../../../../lib/local/eventbridge/event-bus.ts';

const entry = { Source: 'data-out', DetailType: 'Export Accepted', Detail: '{"requestId":"one"}' };

let shown: BusEvent[];
let bus: EventBus;
beforeEach(() => {
  shown = [];
  const now = () => new Date('2026-11-22T10:00:00Z');
  bus = new EventBus('eu-north-1', now, (event) => shown.push(event));
});

const parse = (input: unknown, action = 'PutEvents') =>
  bus.service().parse('/', { 'x-amz-target': `AWSEvents.${action}` }, Buffer.from(JSON.stringify(input)), '');
async function put(...Entries: object[]): Promise<unknown> {
  const { action, input } = parse({ Entries });
  return JSON.parse((await bus.service().handle(action, input, new Uint8Array(), {})).body);
}
function refusal(attempt: () => unknown): string | undefined {
  try {
    attempt();
  } catch (error) {
    if (error instanceof AwsError) return error.code;
    throw error;
  }
  return undefined;
}

test('an event is kept and shown in the form in which rules see it', async () => {
  const answer = await put(entry);
  expect(answer).toEqual({ FailedEntryCount: 0, Entries: [{ EventId: expect.stringMatching(/^[0-9a-f-]{36}$/) }] });
  const { id, ...event } = bus.events[0] ?? {};
  expect(event).toEqual({
    source: 'data-out',
    'detail-type': 'Export Accepted',
    time: '2026-11-22T10:00:00.000Z',
    detail: { requestId: 'one' },
  });
  expect(answer).toMatchObject({ Entries: [{ EventId: id }] });
  expect(shown).toEqual(bus.events);
});

test('each entry asks for its own permission, with source and detail type as condition keys', () => {
  const { permissions } = parse({ Entries: [entry, { ...entry, Source: 'other', EventBusName: 'default' }] });
  const permission = (source: string) => ({
    action: 'events:PutEvents',
    resource: expect.stringMatching(/^arn:aws:events:eu-north-1:\d{12}:event-bus\/default$/),
    context: { 'events:source': source, 'events:detail-type': 'Export Accepted' },
  });
  expect(permissions).toEqual([permission('data-out'), permission('other')]);
});

test.each([
  ['another bus', () => parse({ Entries: [{ ...entry, EventBusName: 'mine' }] }), 'ResourceNotFoundException'],
])('%s is refused', (_name, attempt, code) => {
  expect(refusal(attempt)).toBe(code);
});
