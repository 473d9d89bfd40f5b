import { Duration, Names, RemovalPolicies, Stack } from 'aws-cdk-lib';
import { AccountRootPrincipal, AnyPrincipal, Effect, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { type IQueue, Queue, QueueEncryption, RedrivePermission } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import { retryDelaysSeconds } from '../../contract/messages.ts';
import { stackNames } from '../../contract/outputs.ts';
import type { Permission, ServiceFunction } from '../functions/service-function.ts';
import { allowKey, type KeyUse } from '../security/keys.ts';
import { acknowledge } from '../security/rules.ts';

/** The work queues, in the order in which an export passes them. `fileExports` has the files over 8 MiB. */
export const workQueueNames = ['exportRequests', 'fileExports', 'smallFileExports', 'deliveries'] as const;
export type WorkQueueName = (typeof workQueueNames)[number];

/** As in the names of resources: `ExportRequests`. */
const idOf = (name: WorkQueueName) => `${name[0]?.toUpperCase()}${name.slice(1)}`;

/**
 * Name of the queue in AWS: the dead-letter queues, which are in the other stack, accept messages of these queues only, and are
 * made before them.
 */
const fullName = (name: WorkQueueName, stage: string | undefined) => `${stackNames(stage).service}-${idOf(name)}`;

/**
 * Settings of all queues. A queue with visas has a customer key, so that a reader needs two grants, and disabling the
 * key closes the queue. SQS goes on with a data key for up to five minutes after that. Other queues hold no secret and
 * use SSE-SQS.
 */
function common(key: Key | undefined) {
  return {
    ...(key
      ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key, dataKeyReuse: Duration.minutes(5) }
      : { encryption: QueueEncryption.SQS_MANAGED }),
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  };
}

/** Refuse the messages of every principal that meets the conditions, whatever its own policies allow. */
function refuseMessages(queue: Queue, conditions: Record<string, Record<string, unknown>>): void {
  const statement = new PolicyStatement({
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions: ['sqs:SendMessage'],
    resources: [queue.queueArn],
    conditions,
  });
  queue.addToResourcePolicy(statement);
}

/** Time limit of the function that records dead letters. */
export const deadLetterTimeout = Duration.minutes(5);

interface DeadLettersProps {
  /** The work queue whose messages end here. */
  readonly source: WorkQueueName;
  readonly stage: string | undefined;
  /** Customer key of both queues. @default - SSE-SQS */
  readonly key: Key | undefined;
}

/** Where messages that failed for good are recorded from. Only SQS itself puts any here. */
export class DeadLetters extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, { source, stage, key }: DeadLettersProps) {
    super(scope, `${idOf(source)}DeadLetters`);
    const sourceArn = Stack.of(this).formatArn({ service: 'sqs', resource: fullName(source, stage) });
    this.queue = new Queue(this, 'Queue', {
      ...common(key),
      // Six times the time limit of the function that takes from here.
      visibilityTimeout: Duration.seconds(6 * deadLetterTimeout.toSeconds()),
      redriveAllowPolicy: {
        redrivePermission: RedrivePermission.BY_QUEUE,
        sourceQueues: [Queue.fromQueueArn(this, 'Source', sourceArn)],
      },
    });
    refuseMessages(this.queue, { Bool: { 'aws:PrincipalIsAWSService': 'false' } });
    acknowledge(this.queue, { deadLettersOfQueues: 'This queue is itself a dead-letter queue.' });
  }
}

/**
 * The role under which an operator sends messages of exports: of files that are retried, and of requests whose containers were purged. A
 * work queue takes messages from its senders and, where it admits operators, from this role. Each principal of the account may assume it
 * if its own policies allow `sts:AssumeRole` on it.
 */
export class OperatorRole extends Construct implements Pick<ServiceFunction, 'allow'> {
  readonly roleArn: string;
  readonly #role: Role;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.#role = new Role(this, 'Role', {
      assumedBy: new AccountRootPrincipal(),
      description: 'For operators: sends files and requests of exports to their queues again',
    });
    this.roleArn = this.#role.roleArn;
  }

  allow(statement: Omit<Permission, 'wildcard'>): void {
    this.#role.addToPolicy(new PolicyStatement(statement));
  }
}

export interface WorkQueueProps {
  readonly name: WorkQueueName;
  readonly stage: string | undefined;
  /** The only functions that send to the queue. */
  readonly senders: readonly ServiceFunction[];
  /** The only function that takes from the queue. */
  readonly worker: ServiceFunction;
  /** The role by which operators also send to the queue. @default - they do not */
  readonly operators?: OperatorRole;
  readonly deadLetters: IQueue;
  /** Records the dead letters. */
  readonly recorder: ServiceFunction;
  /** Customer key of the queue and its dead letters. @default - SSE-SQS */
  readonly key?: Key;
  /** Messages of one invocation, 1–10. They share its time limit. */
  readonly batchSize: number;
  /** Invocations at once, 2–1,000. */
  readonly maxConcurrency: number;
}

/**
 * A queue, the functions that send to it, the one that works on it, and the rules between them. The queue and its policy outlive
 * the stack, with the messages that wait (docs/decisions/deployment.md#the-work-queues-outlive-their-stack).
 */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: IQueue;

  constructor(scope: Construct, props: WorkQueueProps) {
    super(scope, idOf(props.name));
    const { senders, worker, operators, deadLetters, recorder, key } = props;
    this.deadLetters = deadLetters;
    this.queue = new Queue(this, 'Queue', {
      ...common(key),
      queueName: fullName(props.name, props.stage),
      maxMessageSizeBytes: 1_048_576,
      // Lambda retries throttled invocations itself before a message may become visible again.
      visibilityTimeout: Duration.seconds(6 * worker.timeout.toSeconds()),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: retryDelaysSeconds.length + 1 },
    });
    const { queueArn, queueUrl } = this.queue;
    const keyUse = (actions: KeyUse['actions']): KeyUse => ({ service: 'sqs', actions, keyArn: key?.keyArn });

    for (const sender of senders) {
      sender.allow({ actions: ['sqs:SendMessage'], resources: [queueArn] });
      allowKey(sender, this, keyUse(['kms:GenerateDataKey', 'kms:Decrypt']));
      sender.configure(environment[`${props.name}QueueUrl`], queueUrl);
    }

    const { batchSize, maxConcurrency } = props;
    this.#consume(worker, this.queue, { batchSize, maxConcurrency }, keyUse(['kms:Decrypt']));
    // The worker delays the next receive of a message that failed.
    worker.allow({ actions: ['sqs:ChangeMessageVisibility'], resources: [queueArn] });
    worker.configure(environment[`${props.name}QueueUrl`], queueUrl);
    this.#consume(recorder, deadLetters, { batchSize: 10, maxConcurrency: 2 }, keyUse(['kms:Decrypt']));

    operators?.allow({ actions: ['sqs:SendMessage'], resources: [queueArn] });
    const admitted = [...senders, ...(operators ? [operators] : [])].map(({ roleArn }) => roleArn);
    refuseMessages(this.queue, { ArnNotEquals: { 'aws:PrincipalArn': admitted } });
    RemovalPolicies.of(this).retainOnUpdateOrDelete();
  }

  /** Not by SqsEventSource, which would grant the key for any use. Lambda takes from the queue under the function's role. */
  #consume(
    target: ServiceFunction,
    queue: IQueue,
    options: { readonly batchSize: number; readonly maxConcurrency: number },
    keyUse: KeyUse,
  ): void {
    target.allow({
      actions: ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'].map((action) => `sqs:${action}`),
      resources: [queue.queueArn],
    });
    allowKey(target, this, keyUse);
    const mapping = target.function.addEventSourceMapping(`SqsEventSource:${Names.nodeUniqueId(queue.node)}`, {
      eventSourceArn: queue.queueArn,
      reportBatchItemFailures: true,
      ...options,
    });
    acknowledge(mapping, {
      'Serverless-LambdaEventSourceMappingDestination':
        'Lambda has failure destinations for streams. Messages of a queue that failed go to its dead-letter queue, from which a function records them.',
    });
  }
}
