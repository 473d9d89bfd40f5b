import { Duration, Stack } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import { eventDetailTypes, eventSource } from '../../contract/events.ts';
import type { FunctionsProps, Make } from './make.ts';
import type { ServiceFunction } from './service-function.ts';

/** Functions that carry exports out: they work on queues, or on a schedule. */
export function workerFunctions(make: Make, props: FunctionsProps) {
  const { settings, storage } = props;
  const consumeExport = make('ConsumeExport', {
    entry: 'data-out/consume-export.ts',
    description: 'Verifies an export request and fans it out into files',
    memoryMegabytes: 512,
    timeout: Duration.minutes(5),
    verifiesVisas: true,
  });
  const hasQuota = settings.outboxQuotaGib !== undefined;
  storage.catalogue.grant(consumeExport, 'worker', { transactions: hasQuota });
  if (hasQuota) {
    consumeExport.configure(environment.outboxQuotaGib, String(settings.outboxQuotaGib));
    consumeExport.configure(environment.outboxExpiryDays, String(settings.outboxExpiryDays));
  }
  storage.outbox.grantMark(consumeExport);
  if (settings.events === 'on') allowEvents(consumeExport, ['accepted', 'rejected']);

  const stageFile = make('StageFile', {
    entry: 'data-out/stage-file.ts',
    description: "Rebuilds a file's header for its recipient and writes the container to the outbox",
    memoryMegabytes: 512,
    timeout: Duration.minutes(15),
  });
  storage.catalogue.grant(stageFile, 'worker');
  storage.archive.grantRead(stageFile);
  storage.outbox.grantWrite(stageFile);
  storage.archiveKeys.grantRead(stageFile);
  storage.visaDenyList.grantRead(stageFile);
  // Messages are parsed strictly: a new field must be known to the reader before the sender writes it.
  consumeExport.node.addDependency(stageFile.function);

  const sweepDeliveries = make('SweepDeliveries', {
    entry: 'data-out/sweep-deliveries.ts',
    description: 'Settles what invocations that died left open',
    memoryMegabytes: 256,
    timeout: Duration.minutes(4),
  });
  storage.catalogue.grant(sweepDeliveries, 'worker');
  storage.outbox.grantSweep(sweepDeliveries);
  if (settings.auditRetentionDays !== undefined) {
    sweepDeliveries.configure(environment.auditRetentionDays, String(settings.auditRetentionDays));
  }

  // A receipt of a million files takes some 170 s of a processor, which Lambda gives with this memory. It needs 170 MiB.
  const settleDelivery = make('SettleDelivery', {
    entry: 'data-out/settle-delivery.ts',
    description: 'Settles a request and writes its delivery receipt',
    memoryMegabytes: 1769,
    timeout: Duration.minutes(15),
  });
  storage.catalogue.grant(settleDelivery, 'worker');
  if (settings.deliveryReceipt ?? true) {
    storage.receiptKeys.grantSign(settleDelivery);
    storage.outbox.grantWriteReceipts(settleDelivery);
    settleDelivery.configure(environment.serviceId, settings.service.id);
  }
  if (settings.events === 'on') allowEvents(settleDelivery, ['complete', 'incomplete', 'failed', 'withdrawn']);

  return {
    ...{ consumeExport, stageFile, settleDelivery, sweepDeliveries },
    withdraw: withdrawFunction(make, props),
  };
}

/** @returns `undefined` when the settings leave withdrawn containers to their expiry */
function withdrawFunction(make: Make, { settings, storage }: FunctionsProps): ServiceFunction | undefined {
  const { withdrawal = 'report' } = settings;
  if (withdrawal === 'off') return undefined;
  const withdraw = make('Withdraw', {
    entry: 'data-out/withdraw.ts',
    description: 'Finds containers of deprecated datasets in the outbox',
    memoryMegabytes: 512,
    timeout: Duration.minutes(15),
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
