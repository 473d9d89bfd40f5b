import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Trigger } from 'aws-cdk-lib/triggers';
import type { Construct } from 'constructs';
import { trustedIssuersContext } from '../contract/synth.ts';
import { DeliveryApi } from './apis/delivery-api.ts';
import { DirectApi } from './apis/direct-api.ts';
import { ApiGatewayLogRole } from './apis/log-role.ts';
import { Functions } from './functions/functions.ts';
import type { ServiceFunction } from './functions/service-function.ts';
import { addOutputs } from './outputs.ts';
import { OperatorRole, workQueueNames } from './queues/queues.ts';
import { workQueues } from './queues/work-queues.ts';
import { encryptLogs } from './security/keys.ts';
import { acknowledge } from './security/rules.ts';
import type { Settings } from './settings.ts';
import type { StorageStack } from './storage-stack.ts';
import { watch } from './watching/watch.ts';

/** How often containers of deprecated datasets are looked for. */
const withdrawInterval = Duration.minutes(15);
/** The same where the cluster may sleep, because each look wakes it. */
const withdrawIntervalOfSleepers = Duration.hours(12);

interface ServiceStackProps extends StackProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
  /** The trust list to bundle, relative to the root of the repository. */
  readonly trustedIssuers: string;
}

/** Everything that can be deployed again at any time: functions, queues, APIs, alarms. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    super(scope, id, props);
    const { settings, storage, trustedIssuers } = props;
    this.node.setContext(trustedIssuersContext, trustedIssuers);
    this.addStackDependency(storage, 'reads its outputs');
    const functions = new Functions(this, 'Functions', { settings, storage });
    const { sweepDeliveries, withdraw } = functions.workers;
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
      description: 'Ends what no message will end, and deletes rows whose time is over',
      every: Duration.days(1),
    });

    const operators = new OperatorRole(this, 'Operators');
    const queues = workQueues(this, { settings, storage, functions, operators });

    const exporting = { settings, description: 'data-out: delivery API' };
    const proxy = new DeliveryApi(this, 'Proxy', { ...functions.delivery, ...exporting });
    const serving = { settings, description: 'data-out: direct API' };
    const dataOut = functions.direct && new DirectApi(this, 'DataOut', { ...functions.direct, ...serving });
    const apis = [proxy, ...(dataOut ? [dataOut] : [])];

    if (settings.apiGatewayLogRole === 'create') {
      const logRole = new ApiGatewayLogRole(this, 'ApiGatewayLogs');
      for (const { api } of apis) api.deploymentStage.node.addDependency(logRole);
    }

    const sleeps = 'minCapacity' in settings.database && settings.database.minCapacity === 0;
    const interval = sleeps ? withdrawIntervalOfSleepers : withdrawInterval;
    if (withdraw) {
      this.#schedule('WithdrawSchedule', withdraw, {
        description: 'Looks for containers of deprecated datasets in the outbox',
        every: interval,
      });
    }

    const { topicArn, dashboardUrl } = watch(this, {
      settings,
      storage,
      functions,
      queues,
      apis: { Proxy: proxy, ...(dataOut && { DataOut: dataOut }) },
      withdrawInterval: withdraw && interval,
    });

    if (storage.logKey) encryptLogs(this, storage.logKey, settings.logRetentionDays);

    addOutputs(this, {
      ...Object.fromEntries(workQueueNames.map((name) => [`${name}QueueUrl`, queues[name].queue.queueUrl])),
      ...{ proxyUrl: proxy.url, dataOutUrl: dataOut?.url, redriveRoleArn: operators.roleArn },
      alarmTopicArn: topicArn,
      outboxExpiryDays: String(settings.outboxExpiryDays),
      outboxQuotaGib: settings.outboxQuotaGib?.toString(),
    });
    // For people: no tool needs it.
    new CfnOutput(this, 'DashboardUrl', { value: dashboardUrl });
  }

  #schedule(
    id: string,
    target: ServiceFunction,
    { description, every }: { readonly description: string; readonly every: Duration },
  ): void {
    const schedule = Schedule.rate(every);
    const rule = new Rule(this, id, { description, schedule, targets: [new LambdaFunction(target.function)] });
    acknowledge(rule, {
      'Serverless-EventBusDLQ': 'The event of a schedule is always the same, and the next one starts the same work.',
    });
  }
}
