import { Duration } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type EnvironmentVariable, environment } from '../contract/environment.ts';
import { acknowledge } from './acknowledge.ts';
import type { Grantee, ServiceFunction } from './service-function.ts';

/**
 * SSE-SQS rather than a customer key: reading needs a grant on the queue either way, and a throttled or disabled key
 * would be one more way for an export to be refused.
 */
const sealed = {
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.days(14),
} as const;

/** Receives after which a message is put aside: the 2nd to 5th attempt follow the settings' delays. */
const maxReceiveCount = 5;

/** Where messages that failed for good wait for an operator. */
export class DeadLetters extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.queue = new Queue(this, 'Queue', sealed);
    acknowledge(this.queue, 'This queue is itself a dead-letter queue.', 'AwsSolutions-SQS3');
  }
}

export interface WorkQueueProps {
  readonly deadLetters: IQueue;
  readonly worker: ServiceFunction;
  /** Messages that are worked on at once, 2–1,000. */
  readonly maxConcurrency: number;
  /** Variable that names the queue to its worker and to the functions that send to it. */
  readonly variable: EnvironmentVariable;
  /** Seconds before the 2nd, 3rd, … receive of a message that failed. */
  readonly retryDelaysSeconds: readonly number[];
}

/** A queue, the function that works on it, and the rule between them. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly #variable: EnvironmentVariable;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    this.#variable = props.variable;
    this.queue = new Queue(this, 'Queue', {
      ...sealed,
      maxMessageSizeBytes: 1_048_576,
      // Lambda retries throttled invocations itself before a message may become visible again.
      visibilityTimeout: Duration.seconds(6 * props.worker.timeout.toSeconds()),
      deadLetterQueue: { queue: props.deadLetters, maxReceiveCount },
    });
    // One message an invocation: a request may fan out into 100,000 files and a file may be a terabyte, so two of them
    // must not share one time limit, nor one spend the other's receives.
    props.worker.function.addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: 1,
        reportBatchItemFailures: true,
        maxConcurrency: props.maxConcurrency,
      }),
    );
    // The worker puts off the next receive of a message that failed; the event source grants ChangeMessageVisibility.
    props.worker.configure(props.variable, this.queue.queueUrl);
    props.worker.configure(environment.retryDelaysSeconds, props.retryDelaysSeconds.join(','));
  }

  grantSend(grantee: Grantee): void {
    grantee.allow({ actions: ['sqs:SendMessage'], resources: [this.queue.queueArn] });
    grantee.configure(this.#variable, this.queue.queueUrl);
  }
}
