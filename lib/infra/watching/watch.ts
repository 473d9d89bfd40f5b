import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ServiceApi } from '../apis/service-api.ts';
import type { Functions } from '../functions/functions.ts';
import type { WorkQueues } from '../queues/work-queues.ts';
import type { Settings } from '../settings.ts';
import type { StorageStack } from '../storage-stack.ts';
import { Alarms } from './alarms.ts';
import { Dashboard } from './dashboard.ts';
import { KeyDeletion, keysInSettings, keysOf } from './key-deletion.ts';

interface WatchProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
  readonly functions: Functions;
  readonly queues: WorkQueues;
  /** By the names that their alarms have. */
  readonly apis: Readonly<Record<string, ServiceApi>>;
  /** How often containers of deprecated datasets are looked for. Absent: they are not. */
  readonly withdrawInterval: Duration | undefined;
}

/** Make the alarms, the message about keys, and the dashboard. Call it last: it watches the keys that the scope has by then. */
export function watch(
  scope: Construct,
  props: WatchProps,
): { readonly topicArn: string; readonly dashboardUrl: string } {
  const { settings, storage, functions, queues, apis } = props;
  const alarms = new Alarms(scope, 'Alarms', { email: settings.alarmEmail });
  for (const queue of Object.values(queues)) alarms.deadLetters(queue);
  alarms.age(queues.exportRequests, Duration.hours(1));
  alarms.age(queues.fileExports, Duration.hours(6));
  alarms.age(queues.smallFileExports, Duration.hours(6));
  alarms.age(queues.deliveries, Duration.hours(1));
  alarms.functions('RequestFunctions', functions.answeringRequests);
  if (functions.direct) alarms.functions('DirectFunctions', functions.servingDirectly);
  alarms.functions('WorkerFunctions', functions.workingInTheBackground);
  alarms.errors('DeploymentFunctions', Object.values(functions.deployment));
  for (const [name, api] of Object.entries(apis)) {
    alarms.serverErrors(name, api);
    alarms.clientErrors(name, api);
    alarms.throttled(name, api);
    alarms.latency(name, api);
  }
  alarms.database(storage.catalogue);
  alarms.exportsRejected();
  alarms.filesGivenUp();
  alarms.deliveryOverdue();
  alarms.archiveDamaged();
  if (props.withdrawInterval) alarms.withdrawnInOutbox(props.withdrawInterval);

  new KeyDeletion(scope, 'KeyDeletion', {
    keyArns: [...keysOf(storage, scope), ...keysInSettings(settings)],
    alarms,
  });

  const dashboard = new Dashboard(scope, 'Dashboard', {
    queues: Object.values(queues),
    apis,
    functions: functions.all,
    clusterIdentifier: storage.catalogue.clusterIdentifier,
    outboxBucket: storage.outbox.bucketName,
  });
  return { topicArn: alarms.topic.topicArn, dashboardUrl: dashboard.url };
}
