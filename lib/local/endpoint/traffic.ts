import type { AwsService } from './errors.ts';

/** One call of an AWS service, as the endpoint has understood it. */
export interface AwsCall {
  /** Short name of the function, `operator`, or `presigned` for a presigned URL. */
  readonly caller: string;
  /** Request id of the invocation in which a function makes the call. */
  readonly invocation?: string | undefined;
  readonly service: AwsService;
  /** API action, for example `UploadPartCopy` or `SendMessageBatch`. */
  readonly action: string;
  /** For S3. */
  readonly bucket?: string | undefined;
  /** For S3, decoded. */
  readonly key?: string | undefined;
  /** Input of the JSON services. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A fault that a test gives to a call. */
export interface Fault {
  /** `before` (default): the call has no effect. `after`: it has its effect, and its answer is replaced or lost. */
  readonly when?: 'before' | 'after';
  readonly delayMs?: number;
  /** Run and awaited at that moment. Without `error` and `drop` the call then continues as usual. */
  readonly action?: () => unknown;
  /** Answer with this error. */
  readonly error?: { readonly status: number; readonly code: string; readonly message?: string };
  /** Break the connection without an answer. */
  readonly drop?: boolean;
}

/** Returns the fault for a call, or `undefined` for none. */
export type FaultRule = (call: AwsCall) => Fault | undefined;

/** Called when a call is over. `status` is 0 if the connection broke. */
export type CallListener = (call: AwsCall, status: number) => void;

/** Bytes are those of the bodies, without headers. */
export interface Counter {
  calls: number;
  bytesIn: number;
  bytesOut: number;
}

/** Counts the calls of the AWS endpoint, lets a test observe them, and breaks them on purpose. */
export class Traffic {
  readonly #counters = new Map<string, Counter>();
  readonly #rules = new Set<FaultRule>();
  readonly #listeners = new Set<CallListener>();

  /** Break calls from now on. @returns a function that removes the rule. */
  addFault(rule: FaultRule): () => void {
    this.#rules.add(rule);
    return () => this.#rules.delete(rule);
  }

  /** @returns a function that ends the observation. */
  observe(listener: CallListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Counters by `caller service action`, for example `stage-file s3 UploadPart`. */
  counters(): Readonly<Record<string, Readonly<Counter>>> {
    return Object.fromEntries([...this.#counters].map(([key, counter]) => [key, { ...counter }]));
  }

  /** Bytes of all bodies that one caller sent or received. @param service all services when absent. */
  bytesOf(caller: string, service?: AwsService): number {
    let bytes = 0;
    for (const [key, { bytesIn, bytesOut }] of this.#counters) {
      if (key.startsWith(service === undefined ? `${caller} ` : `${caller} ${service} `)) bytes += bytesIn + bytesOut;
    }
    return bytes;
  }

  resetCounters(): void {
    this.#counters.clear();
  }

  /** For the endpoint: the counter of a call. */
  counterOf({ caller, service, action }: AwsCall): Counter {
    const key = `${caller} ${service} ${action}`;
    const counter = this.#counters.get(key) ?? { calls: 0, bytesIn: 0, bytesOut: 0 };
    this.#counters.set(key, counter);
    return counter;
  }

  /** For the endpoint: the fault of the first rule that has one for this call. */
  faultFor(call: AwsCall): Fault | undefined {
    for (const rule of this.#rules) {
      const fault = rule(call);
      if (fault) return fault;
    }
    return undefined;
  }

  /** For the endpoint: tell that a call is over. */
  ended(call: AwsCall, status: number): void {
    for (const listener of this.#listeners) listener(call, status);
  }
}
