import { Duration, Stack } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import { eventDetailTypes, eventSource } from '../../contract/events.ts';
import { deadLetterTimeout } from '../queues/queues.ts';
import type { FunctionsProps, Make } from './make.ts';
import type { ServiceFunction } from './service-function.ts';

/** Functions that carry exports out: they work on queues, or on a schedule. */
export function workerFunctions(make: Make, props: FunctionsProps) {
  const { settings, storage } = props;
  const consumeExport = make('ConsumeExport', 'export/consume-export.ts', {
    description: 'Decides on an export request and sends its files to be staged',
    // Two million files are sent in one invocation.
    limits: [512, Duration.minutes(15)],
    verifiesVisas: true,
  });
  storage.catalogue.grant(consumeExport, 'worker', { transactions: true });
  if (settings.outboxQuotaGib !== undefined) {
    consumeExport.configure(environment.outboxQuotaGib, String(settings.outboxQuotaGib));
    consumeExport.configure(environment.outboxExpiryDays, String(settings.outboxExpiryDays));
  }
  if (settings.events === 'on') allowEvents(consumeExport, ['accepted', 'rejected']);

  const stageFile = make('StageFile', 'export/stage-file.ts', {
    description: "Rebuilds a file's header for its recipient and writes the container to the outbox",
    limits: [512, Duration.minutes(15)],
    // A copy that needs another invocation sends its own message again. It ends, because each invocation brings a part.
    mayLoop: true,
  });
  storage.catalogue.grant(stageFile, 'worker');
  storage.archive.grantRead(stageFile);
  storage.outbox.grantWrite(stageFile);
  storage.archiveKeys.grantRead(stageFile);
  storage.visaDenyList.grantRead(stageFile);
  // Messages are parsed strictly: a new field must be known to the reader before the sender writes it.
  consumeExport.node.addDependency(stageFile.function);

  const recordDeadLetters = make('RecordDeadLetters', 'export/record-dead-letters.ts', {
    description: 'Records in the rows of requests and files what failed for good',
    limits: [256, deadLetterTimeout],
  });
  storage.catalogue.grant(recordDeadLetters, 'worker');
  if (settings.events === 'on') allowEvents(recordDeadLetters, ['rejected']);

  const sweepDeliveries = make('SweepDeliveries', 'export/sweep-deliveries.ts', {
    description: 'Ends what no message will end, and deletes rows whose time is over',
    limits: [256, Duration.minutes(15)],
  });
  storage.catalogue.grant(sweepDeliveries, 'worker');

  const settleDelivery = make('SettleDelivery', 'export/settle-delivery.ts', {
    description: 'Settles a request and writes its delivery receipt',
    limits: [512, Duration.minutes(15)],
  });
  storage.catalogue.grant(settleDelivery, 'worker');
  if (settings.deliveryReceipt ?? true) {
    storage.receiptKeys.grantSign(settleDelivery);
    storage.outbox.grantWriteReceipts(settleDelivery);
    settleDelivery.configure(environment.serviceId, settings.service.id);
  }
  if (settings.events === 'on') allowEvents(settleDelivery, ['complete', 'incomplete', 'withdrawn']);

  return {
    ...{ consumeExport, stageFile, settleDelivery, recordDeadLetters, sweepDeliveries },
    withdraw: withdrawFunction(make, props),
  };
}

/** @returns `undefined` when the settings leave withdrawn containers to their expiry */
function withdrawFunction(make: Make, { settings, storage }: FunctionsProps): ServiceFunction | undefined {
  const { withdrawal = 'report' } = settings;
  if (withdrawal === 'off') return undefined;
  const withdraw = make('Withdraw', 'export/withdraw.ts', {
    description: 'Finds containers of deprecated datasets in the outbox',
    limits: [512, Duration.minutes(15)],
  });
  storage.catalogue.grant(withdraw, 'worker');
  storage.outbox.grantWithdraw(withdraw, { deletes: withdrawal === 'purge' });
  withdraw.configure(environment.withdrawal, withdrawal);
  return withdraw;
}

/** Let a function send the events of these states to the default bus, and no other event. */
function allowEvents(sender: ServiceFunction, states: readonly (keyof typeof eventDetailTypes)[]): void {
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
