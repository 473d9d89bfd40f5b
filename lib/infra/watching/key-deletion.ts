import { EventField, Match, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { CfnKey } from 'aws-cdk-lib/aws-kms';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import { acknowledge } from '../security/rules.ts';
import type { Settings } from '../settings.ts';

/** Keys of one rule. An event pattern has at most 2,048 characters, and an ARN of a key some 75. */
const keysTogether = 16;

const article = 'What to do: docs/runbook.md#keydeletion';

interface KeyDeletionProps {
  readonly keyArns: readonly string[];
  /** Receives the messages. */
  readonly topic: Topic;
}

/**
 * Tells people that a key of the deployment is disabled, or is to be deleted, or is gone. KMS has no metric for it. It sends
 * EventBridge its own event only when a key is gone (*Monitor KMS keys with Amazon EventBridge*). What comes before
 * is an API call, which EventBridge sees if the account has a trail for management events in this region.
 */
export class KeyDeletion extends Construct {
  readonly rules: readonly Rule[];

  constructor(scope: Construct, id: string, { keyArns, topic }: KeyDeletionProps) {
    super(scope, id);
    // Its statement in the topic's policy has no condition: EventBridge could not publish under one (EventBridge user guide).
    const target = (text: string) => new SnsTopic(topic, { message: RuleTargetInput.fromText(text) });
    const groups = Array.from({ length: Math.ceil(keyArns.length / keysTogether) }, (_, index) =>
      keyArns.slice(index * keysTogether, (index + 1) * keysTogether),
    );
    this.rules = groups.flatMap((keys, index) => [
      new Rule(this, `Calls${index + 1}`, {
        description: 'Keys of the deployment that are disabled or to be deleted',
        eventPattern: {
          source: ['aws.kms'],
          detailType: ['AWS API Call via CloudTrail'],
          detail: {
            eventSource: ['kms.amazonaws.com'],
            eventName: ['ScheduleKeyDeletion', 'DisableKey'],
            // A refused call has one.
            errorCode: Match.doesNotExist(),
            resources: { ARN: keys },
          },
        },
        targets: [
          target(
            `${EventField.fromPath('$.detail.eventName')} at ${EventField.time}: key ${EventField.fromPath('$.detail.resources[0].ARN')}, event ${EventField.fromPath('$.detail.eventID')} in CloudTrail. ${article}`,
          ),
        ],
      }),
      new Rule(this, `Gone${index + 1}`, {
        description: 'Keys of the deployment that are deleted',
        eventPattern: {
          source: ['aws.kms'],
          detailType: ['KMS CMK Deletion'],
          resources: keys,
        },
        targets: [
          target(
            `${EventField.detailType} at ${EventField.time}: ${EventField.fromPath('$.resources[0]')}. ${article}`,
          ),
        ],
      }),
    ]);
    for (const rule of this.rules) {
      acknowledge(rule, {
        'Serverless-EventBusDLQ':
          'EventBridge repeats for a day what may succeed later, and drops at once what the topic refuses. The alarm KeyDeletionUndelivered counts both, and CloudTrail keeps the calls.',
      });
    }
  }
}

/** ARNs of the keys that these stacks make. */
export function keysOf(...stacks: readonly IConstruct[]): readonly string[] {
  const all = stacks.flatMap((stack) => stack.node.findAll());
  return all.filter((construct) => construct instanceof CfnKey).map((key) => key.attrArn);
}

/** ARNs of the keys that the settings name, each once. */
export function keysInSettings(settings: Settings): readonly string[] {
  const found = new Set<string>();
  JSON.stringify(settings, (name, value: unknown) => {
    if (/keyArn$/i.test(name) && typeof value === 'string') found.add(value);
    return value;
  });
  return [...found];
}
