import type { AwsCall, Fault, FaultRule } from '../../lib/local/endpoint/traffic.ts';
import type { Seeded } from '../fuzz/seeded.ts';

type AwsFault = NonNullable<Fault['error']>;

/** Errors that a service answers with when it is in trouble, and a refusal that no SDK repeats. */
const errors: Readonly<Record<string, readonly AwsFault[]>> = {
  s3: [
    { status: 503, code: 'SlowDown' },
    { status: 500, code: 'InternalError' },
    { status: 400, code: 'RequestTimeout' },
    { status: 403, code: 'AccessDenied' },
  ],
  sqs: [
    { status: 503, code: 'ServiceUnavailable' },
    { status: 403, code: 'RequestThrottled' },
    { status: 500, code: 'InternalFailure' },
    { status: 400, code: 'AccessDeniedException' },
  ],
  'rds-data': [
    { status: 400, code: 'DatabaseResumingException' },
    { status: 400, code: 'ThrottlingException' },
    { status: 500, code: 'InternalServerErrorException' },
    { status: 503, code: 'ServiceUnavailableError' },
    { status: 403, code: 'AccessDeniedException' },
  ],
};

const otherErrors: readonly AwsFault[] = [
  { status: 400, code: 'ThrottlingException' },
  { status: 500, code: 'InternalServiceError' },
];

/** Gives random faults to the calls of functions: an error or a broken connection, before the effect or after it. */
export class RandomFaults {
  /** How often each fault was given, by `s3 SlowDown after`. */
  readonly given = new Map<string, number>();
  /** Receipt handles whose change of visibility had a fault, by queue URL. */
  readonly hidden: { readonly queueUrl: string; readonly receiptHandle: string }[] = [];
  total = 0;
  readonly #random: Seeded;
  readonly #oneIn: number;
  readonly #callers: ReadonlySet<string>;

  /**
   * @param callers short names of the functions
   * @param oneIn a fault for one call in so many
   */
  constructor(random: Seeded, callers: readonly string[], oneIn: number) {
    this.#random = random;
    this.#callers = new Set(callers);
    this.#oneIn = oneIn;
  }

  readonly rule: FaultRule = (call) => {
    if (!this.#callers.has(call.caller) || !this.#random.oneIn(this.#oneIn)) return undefined;
    // The embedded database has one session: a transaction that nobody ends would hold all others up for three minutes.
    if (call.action === 'RollbackTransaction') return undefined;
    const when = call.action === 'BeginTransaction' ? 'before' : this.#random.pick(['before', 'after'] as const);
    const choice = this.#random.pick([...(errors[call.service] ?? otherErrors), 'drop'] as const);
    const name = `${call.service} ${choice === 'drop' ? 'connection dropped' : choice.code} ${when}`;
    this.given.set(name, (this.given.get(name) ?? 0) + 1);
    this.total += 1;
    this.#remember(call);
    return choice === 'drop' ? { when, drop: true } : { when, error: choice };
  };

  /** Lines of a list, the most frequent first. */
  get summary(): string {
    const counts = [...this.given].sort(([, a], [, b]) => b - a);
    return counts.map(([name, count]) => `${String(count).padStart(8)}  ${name}`).join('\n');
  }

  #remember({ action, input }: AwsCall): void {
    if (action !== 'ChangeMessageVisibility') return;
    this.hidden.push({ queueUrl: String(input?.QueueUrl), receiptHandle: String(input?.ReceiptHandle) });
  }
}
