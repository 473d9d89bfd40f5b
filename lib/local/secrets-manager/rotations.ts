import { randomUUID } from 'node:crypto';
import { AwsError } from '../endpoint/errors.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Functions } from '../lambda/functions.ts';
import { mayInvoke } from '../lambda/permissions.ts';
import type { Deployment } from '../template/deployment.ts';
import { type Resource, record, text, whereOf } from '../template/template.ts';
import type { Secrets } from './secrets.ts';

const steps = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'];
const dayMs = 24 * 60 * 60_000;

/** How a secret is rotated. */
export interface RotationRule {
  readonly functionArn: string;
  readonly days: number;
  readonly rotatesAtOnce: boolean;
}

/** Secrets Manager's rotations, by the schedules of the template. */
export class Rotations {
  readonly #secrets: Secrets;
  readonly #functions: Pick<Functions, 'invoke'>;
  readonly #now: () => Date;
  readonly #rules: ReadonlyMap<string, RotationRule>;
  /** The newest attempt for each secret. */
  readonly #attempts = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  /** @throws UnsupportedTemplateError for a schedule without days, or one whose function Secrets Manager may not call */
  constructor(
    deployment: Deployment,
    secrets: Secrets,
    functions: Pick<Functions, 'definition' | 'invoke'>,
    now: () => Date,
  ) {
    this.#secrets = secrets;
    this.#functions = functions;
    this.#now = now;
    const schedules = deployment.resources('AWS::SecretsManager::RotationSchedule');
    this.#rules = new Map(
      schedules.map((schedule) => [text(schedule, 'SecretId'), readRule(schedule, deployment, functions)]),
    );
  }

  rule(secretArn: string): RotationRule | undefined {
    return this.#rules.get(secretArn);
  }

  /** When a secret is rotated next. A change by hand counts as a rotation. */
  nextDate(secretArn: string): Date | undefined {
    const rule = this.#rules.get(secretArn);
    const current = this.#secrets.staged(secretArn, 'AWSCURRENT');
    return rule && current && new Date(Date.parse(current.createdAt) + rule.days * dayMs);
  }

  /** As after a deployment: each function is tested, or rotates at once. From then on what is due is rotated every hour. */
  async start(): Promise<void> {
    for (const [arn, { rotatesAtOnce }] of this.#rules) {
      if (rotatesAtOnce) await this.#run(arn, this.#begin(arn));
      else await this.#test(arn);
    }
    this.#timer = setInterval(() => this.rotateDue(), 60 * 60_000);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Begin the rotations that are due, and again those that have failed. */
  rotateDue(): void {
    for (const arn of this.#rules.keys()) {
      const due = this.nextDate(arn);
      const isDue = due !== undefined && due <= this.#now();
      if (isDue || this.#unfinished(arn) !== undefined) void this.#run(arn, this.#begin(arn));
    }
  }

  /**
   * `RotateSecret`: begin a rotation, which continues after the reply.
   *
   * @returns id of the new version
   * @throws AwsError InvalidRequestException without a schedule, or while an earlier rotation has not ended: that one is tried again
   */
  rotate(arn: string, versionId: string = randomUUID()): string {
    if (!this.#rules.has(arn)) {
      throw new AwsError(
        400,
        'InvalidRequestException',
        'No Lambda rotation function ARN is associated with this secret.',
      );
    }
    const unfinished = this.#unfinished(arn);
    if (unfinished !== undefined) {
      void this.#run(arn, unfinished);
      const message = "A previous rotation isn't complete. That rotation will be reattempted.";
      throw new AwsError(400, 'InvalidRequestException', message);
    }
    void this.#run(arn, this.#begin(arn, versionId));
    return versionId;
  }

  /** Id of a version that a rotation has left behind. */
  #unfinished(arn: string): string | undefined {
    const pending = this.#secrets.staged(arn, 'AWSPENDING');
    return pending?.stages.includes('AWSCURRENT') ? undefined : pending?.versionId;
  }

  #begin(arn: string, versionId: string = randomUUID()): string {
    const unfinished = this.#unfinished(arn);
    if (unfinished !== undefined) return unfinished;
    this.#secrets.reserve(arn, versionId);
    return versionId;
  }

  /** The function's steps, up to the first that fails. A failure is in the function's log. An attempt waits for the one before. */
  #run(arn: string, versionId: string): Promise<void> {
    const attempt = async () => {
      if (this.#secrets.staged(arn, 'AWSPENDING')?.versionId !== versionId) return;
      for (const step of steps) if (!(await this.#call(arn, versionId, step))) return;
    };
    const run = (this.#attempts.get(arn) ?? Promise.resolve()).then(attempt).catch(() => undefined);
    this.#attempts.set(arn, run);
    return run;
  }

  /** Secrets Manager does so when a schedule changes and nothing is rotated at once (API reference, RotateSecret). */
  async #test(arn: string): Promise<void> {
    if (this.#secrets.staged(arn, 'AWSPENDING')) return;
    const versionId = randomUUID();
    this.#secrets.reserve(arn, versionId);
    await this.#call(arn, versionId, 'testSecret');
    this.#secrets.move(arn, 'AWSPENDING', versionId, undefined);
  }

  async #call(arn: string, versionId: string, step: string): Promise<boolean> {
    const functionArn = this.#rules.get(arn)?.functionArn ?? '';
    const event = { Step: step, SecretId: arn, ClientRequestToken: versionId };
    return (await this.#functions.invoke(functionArn, event)).ok;
  }
}

function readRule(schedule: Resource, deployment: Deployment, functions: Pick<Functions, 'definition'>): RotationRule {
  const secretArn = text(schedule, 'SecretId');
  const functionArn = text(schedule, 'RotationLambdaARN');
  const { name } = functions.definition(functionArn);
  if (!mayInvoke(deployment, { service: 'secretsmanager.amazonaws.com', functionArn, source: secretArn })) {
    throw new UnsupportedTemplateError(whereOf(schedule), `Secrets Manager may not call ${name}`);
  }
  const { AutomaticallyAfterDays: days } = record(schedule.property('RotationRules'));
  if (!Number.isInteger(Number(days)) || Number(days) < 1) {
    throw new UnsupportedTemplateError(whereOf(schedule), 'a rotation schedule needs AutomaticallyAfterDays');
  }
  return { functionArn, days: Number(days), rotatesAtOnce: schedule.property('RotateImmediatelyOnUpdate') !== false };
}
