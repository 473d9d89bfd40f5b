import { AspectPriority, CfnOutput, Duration, RemovalPolicies, Stack, type StackProps } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Trigger } from 'aws-cdk-lib/triggers';
import type { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import { outputs } from '../contract/outputs.ts';
import { DataOutApi } from './apis/data-out-api.ts';
import { Firewall } from './apis/firewall.ts';
import { ApiGatewayLogRole } from './apis/log-role.ts';
import { ProxyApi } from './apis/proxy-api.ts';
import { DatabaseRotation } from './functions/database-rotation.ts';
import { Functions } from './functions/functions.ts';
import type { ServiceFunction } from './functions/service-function.ts';
import { receivesOfLongCopies, WorkQueue, workQueueNames } from './queues/queues.ts';
import { Redrive } from './queues/redrive.ts';
import { acknowledge } from './security/acknowledge.ts';
import { encryptLogs } from './security/log-key.ts';
import { rules } from './security/rules.ts';
import type { Settings } from './settings.ts';
import type { StorageStack } from './storage-stack.ts';
import { Alarms } from './watching/alarms.ts';
import { Dashboard } from './watching/dashboard.ts';
import { KeyDeletion, keysInSettings, keysOf } from './watching/key-deletion.ts';

/** Files of at most 8 MiB that one invocation stages. */
const smallFilesTogether = 10;

interface ServiceStackProps extends StackProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
}

/** Everything that can be deployed again at any time: functions, queues, APIs, alarms. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    super(scope, id, props);
    const { settings, storage } = props;
    this.addStackDependency(storage, 'reads its outputs');
    const functions = new Functions(this, 'Functions', { settings, storage });
    const { exportRequest } = functions.proxy;
    const { consumeExport, stageFile, sweepDeliveries, settleDelivery, withdraw, rotateDatabaseLogin } =
      functions.workers;
    const { migrate, protect } = functions.deployment;

    // Migrations are in the bundle, so a new one makes a new version of the function, which runs the trigger again.
    new Trigger(this, 'Migration', {
      handler: migrate.function,
      timeout: Duration.minutes(14),
      executeBefore: [...functions.usingCatalogue],
    });

    // The storage stack cannot have its protections from the beginning: they would lock in a first deployment that failed.
    new Trigger(this, 'Protection', { handler: protect.function, timeout: Duration.minutes(7) });
    // The CDK's command line takes termination protection away from a stack whose template does not ask for it, whenever it
    // deploys that stack.
    this.#schedule('ProtectionSchedule', protect, {
      description: 'Protects the storage stack and its cluster against deletion again',
      every: Duration.hours(1),
    });
    this.#schedule('SweepSchedule', sweepDeliveries, {
      description: 'Settles what invocations that died left open',
      every: Duration.minutes(5),
    });

    const redrive = new Redrive(this, 'Redrive');
    const names = workQueueNames(settings.stage);
    const { retryDelaysSeconds, concurrency } = settings;
    const smallBatches = concurrency.smallFileExports ?? concurrency.fileExports;
    const filesInFlight = String(concurrency.fileExports + smallBatches * smallFilesTogether);
    for (const target of [consumeExport, stageFile, sweepDeliveries]) {
      target.configure(environment.filesInFlight, filesInFlight);
    }
    // One message an invocation: a request may fan out into 100,000 files and a file may be a terabyte, so two of them
    // must not share one time limit, nor one spend the other's receives.
    const exportRequests = new WorkQueue(this, 'ExportRequests', {
      batchSize: 1,
      name: names.exportRequests,
      senders: [exportRequest],
      worker: consumeExport,
      redrive,
      deadLetters: storage.exportRequestsDeadLetters.queue,
      key: storage.exportRequestsKey,
      maxConcurrency: concurrency.exportRequests,
      variable: environment.exportRequestsQueueUrl,
      receivesVariable: environment.exportRequestsReceives,
      retryDelaysSeconds,
    });
    const fileExports = new WorkQueue(this, 'FileExports', {
      batchSize: 1,
      maxReceiveCount: receivesOfLongCopies,
      name: names.fileExports,
      senders: [consumeExport],
      worker: stageFile,
      redrive,
      deadLetters: storage.fileExportsDeadLetters.queue,
      maxConcurrency: concurrency.fileExports,
      variable: environment.fileExportsQueueUrl,
      receivesVariable: environment.fileExportsReceives,
      retryDelaysSeconds,
    });
    // Ten of these files take a second, one query and one statement that records them.
    const smallFileExports = new WorkQueue(this, 'SmallFileExports', {
      batchSize: smallFilesTogether,
      name: names.smallFileExports,
      senders: [consumeExport],
      worker: stageFile,
      redrive,
      deadLetters: storage.smallFileExportsDeadLetters.queue,
      maxConcurrency: smallBatches,
      variable: environment.smallFileExportsQueueUrl,
      receivesVariable: environment.smallFileExportsReceives,
      retryDelaysSeconds,
    });
    // One settled request an invocation: the receipt for 100,000 files takes minutes.
    const deliveries = new WorkQueue(this, 'Deliveries', {
      batchSize: 1,
      name: names.deliveries,
      senders: [consumeExport, stageFile, sweepDeliveries],
      worker: settleDelivery,
      redrive,
      deadLetters: storage.deliveriesDeadLetters.queue,
      maxConcurrency: concurrency.exportRequests,
      variable: environment.deliveriesQueueUrl,
      retryDelaysSeconds,
    });

    const proxy = new ProxyApi(this, 'Proxy', {
      ...functions.proxy,
      settings,
      description: 'data-out: export and download',
    });
    const dataOut =
      functions.direct &&
      new DataOutApi(this, 'DataOut', {
        ...functions.direct,
        settings,
        description: 'data-out: direct access',
      });
    const apis = [proxy, ...(dataOut ? [dataOut] : [])];

    if (settings.firewall) {
      const { logRetentionDays } = settings;
      new Firewall(this, 'Firewall', { limits: settings.firewall, apis, logRetentionDays });
    }

    if (settings.apiGatewayLogRole === 'create') {
      const logRole = new ApiGatewayLogRole(this, 'ApiGatewayLogs');
      for (const { api } of apis) api.deploymentStage.node.addDependency(logRole);
    }

    const alarms = new Alarms(this, 'Alarms', { email: settings.alarmEmail });
    alarms.deadLetters('ExportRequests', storage.exportRequestsDeadLetters.queue);
    alarms.deadLetters('FileExports', storage.fileExportsDeadLetters.queue);
    alarms.deadLetters('SmallFileExports', storage.smallFileExportsDeadLetters.queue);
    alarms.deadLetters('Deliveries', storage.deliveriesDeadLetters.queue);
    alarms.age('ExportRequests', exportRequests.queue, Duration.hours(1));
    alarms.age('FileExports', fileExports.queue, Duration.hours(6));
    alarms.age('SmallFileExports', smallFileExports.queue, Duration.hours(6));
    alarms.age('Deliveries', deliveries.queue, Duration.hours(1));
    alarms.functions('RequestFunctions', functions.answeringRequests);
    if (dataOut) alarms.functions('DirectFunctions', functions.servingDirectly);
    alarms.functions('WorkerFunctions', functions.workingInTheBackground);
    alarms.errors('DeploymentFunctions', Object.values(functions.deployment));
    const watched = { Proxy: proxy, ...(dataOut && { DataOut: dataOut }) };
    for (const [name, api] of Object.entries(watched)) {
      alarms.serverErrors(name, api);
      alarms.clientErrors(name, api);
      alarms.throttled(name, api);
      alarms.latency(name, api);
    }
    alarms.database(storage.catalogue);
    alarms.exportsRejected();
    alarms.archiveDamaged();

    if (withdraw) {
      const interval = Duration.minutes(15);
      this.#schedule('WithdrawSchedule', withdraw, {
        description: 'Looks for containers of deprecated datasets in the outbox',
        every: interval,
      });
      alarms.withdrawnInOutbox(interval);
    }

    const { databaseRotationDays: days } = settings;
    if (rotateDatabaseLogin && days !== undefined) {
      const secretArns = storage.catalogue.ownRoleSecretArns;
      new DatabaseRotation(this, 'DatabaseRotation', { rotate: rotateDatabaseLogin.function, secretArns, days });
    }

    new KeyDeletion(this, 'KeyDeletion', {
      keyArns: [...keysOf(storage, this), ...keysInSettings(settings)],
      topic: alarms.topic,
    });

    const dashboard = new Dashboard(this, 'Dashboard', {
      queues: {
        ExportRequests: exportRequests.queue,
        FileExports: fileExports.queue,
        SmallFileExports: smallFileExports.queue,
        Deliveries: deliveries.queue,
      },
      deadLetters: {
        ExportRequests: storage.exportRequestsDeadLetters.queue,
        FileExports: storage.fileExportsDeadLetters.queue,
        SmallFileExports: storage.smallFileExportsDeadLetters.queue,
        Deliveries: storage.deliveriesDeadLetters.queue,
      },
      apis: watched,
      functions: functions.all,
      clusterIdentifier: storage.catalogue.clusterIdentifier,
      outboxBucket: storage.outbox.bucketName,
    });

    if (storage.logKey) encryptLogs(this, storage.logKey, settings.logRetentionDays);
    if (settings.logsOnDestroy === 'delete') this.#deleteLogs(functions);

    this.#output(outputs.proxyUrl, proxy.url);
    if (dataOut) this.#output(outputs.dataOutUrl, dataOut.url);
    this.#output(outputs.exportRequestsQueueUrl, exportRequests.queue.queueUrl);
    this.#output(outputs.fileExportsQueueUrl, fileExports.queue.queueUrl);
    this.#output(outputs.smallFileExportsQueueUrl, smallFileExports.queue.queueUrl);
    this.#output(outputs.deliveriesQueueUrl, deliveries.queue.queueUrl);
    this.#output(outputs.redriveRoleArn, redrive.roleArn);
    // For people: no tool needs these two.
    this.#output('DashboardUrl', dashboard.url);
    this.#output('AlarmTopicArn', alarms.topic.topicArn);
  }

  #schedule(
    id: string,
    target: ServiceFunction,
    { description, every }: { readonly description: string; readonly every: Duration },
  ): void {
    const schedule = Schedule.rate(every);
    const rule = new Rule(this, id, { description, schedule, targets: [new LambdaFunction(target.function)] });
    acknowledge(
      rule,
      'The event of a schedule carries no data, and the next one starts the same work.',
      ...rules.deadLettersOfEvents,
    );
  }

  /** The CDK keeps log groups by default. Their names are generated, so a kept one never blocks a later deployment. */
  #deleteLogs({ deployment }: Functions): void {
    const logGroups = { applyToResourceTypes: ['AWS::Logs::LogGroup'] };
    RemovalPolicies.of(this).destroy(logGroups);
    // When one of these causes a rollback, its log says why.
    for (const target of Object.values(deployment)) {
      RemovalPolicies.of(target).retain({ ...logGroups, priority: AspectPriority.MUTATING + 1 });
    }
  }

  #output(key: string, value: string): void {
    new CfnOutput(this, key, { value });
  }
}
