import { Stack } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import { eventDetailTypes, eventSource } from '../../contract/events.ts';
import type { ServiceFunction } from './service-function.ts';

/** Let a function send the events of these states to the default bus, and no other event. */
export function allowEvents(sender: ServiceFunction, states: readonly (keyof typeof eventDetailTypes)[]): void {
  const busArn = Stack.of(sender).formatArn({ service: 'events', resource: 'event-bus', resourceName: 'default' });
  sender.allow({
    actions: ['events:PutEvents'],
    resources: [busArn],
    conditions: {
      // For EventBridge, `events:source` is a key with several values. It takes no entry that lacks one of the two keys.
      'ForAllValues:StringEquals': {
        'events:source': eventSource,
        'events:detail-type': [...new Set(states.map((state) => eventDetailTypes[state]))],
      },
    },
  });
  sender.configure(environment.eventBusArn, busArn);
}
