import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { eventSource, smokeDetailType } from '../../contract/events.ts';
import { storeFailure } from '../../service/stores/aws-failure.ts';
import { type AwsClientOptions, eventBridgeClient } from '../../service/stores/clients.ts';

/** Send the event by which the smoke test tries the messages about keys. @throws when EventBridge does not take it */
export async function sendSmokeEvent(
  topicArn: string,
  options: AwsClientOptions,
  client: Pick<EventBridgeClient, 'send'> = eventBridgeClient(options),
): Promise<void> {
  const entry = { Source: eventSource, DetailType: smokeDetailType, Detail: '{}', Resources: [topicArn] };
  try {
    const { Entries: [result] = [] } = await client.send(new PutEventsCommand({ Entries: [entry] }));
    if (result?.ErrorCode) throw Object.assign(new Error(result.ErrorMessage), { name: result.ErrorCode });
  } catch (error) {
    throw storeFailure(error, 'EventBridge');
  }
}
