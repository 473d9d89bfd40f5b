import { randomUUID } from 'node:crypto';
import type { AwsCall, Fault } from '../../lib/local/endpoint/traffic.ts';
import {
  areQueuesEmpty,
  type Break,
  type Delivery,
  deliveryOf,
  faultOf,
  inPlace,
  passVisibilityTimeout,
} from './broken-calls.ts';
import { type Service, until } from './service.ts';

/**
 * The name of one call of a function that works on one message: `large: s3 HeadObject outbox 2`. What settles a request is
 * named `settling`, because it is the call of the file that ends last, whichever that is.
 */
export type CallName = string;

/** One call that goes wrong once. */
export interface Point {
  readonly call: CallName;
  readonly how: Break;
}

/** One export of the dataset, for its own recipient. */
export interface Run {
  readonly requestId: string;
  readonly subject: string;
  /** What its functions called, in order. */
  readonly calls: Set<CallName>;
  /** What is to go wrong next, by message. */
  readonly ahead: Map<string, Point[]>;
}

export interface DatasetToExport {
  readonly datasetId: string;
  /** Word for the message of each file, by file id. */
  readonly messages: Readonly<Record<string, string>>;
  readonly publicKey: Uint8Array;
}

const settling = 'settling';
const isOfSettling = (what: string): boolean => /data_out\.requests$|SendMessageBatch/.test(what);
const messageOf = (call: CallName): string => call.split(':')[0] ?? '';
/** A function reads the secret and the signing key once in its life, for the message that comes first. */
const readsOnce = ({ service, action }: AwsCall): boolean => service === 'secretsmanager' || action === 'GetPublicKey';
const isOfAny = (call: CallName): boolean => !call.includes(':');

/** Exports one dataset again and again while calls of the consumers go wrong. */
export class BrokenExports {
  readonly #service: Service;
  readonly #dataset: DatasetToExport;

  constructor(service: Service, dataset: DatasetToExport) {
    this.#service = service;
    this.#dataset = dataset;
  }

  /**
   * Let each queue of points go wrong in its order. Queues of one message run in different exports, all at the same
   * time. Points that no export reached are tried again, each separately.
   *
   * @param queues the points of each are of one message
   */
  async run(queues: readonly (readonly Point[])[]): Promise<readonly Run[]> {
    const runs: Run[] = [];
    for (let rest = queues, round = 1; rest.length > 0; round += 1) {
      if (round > 4) throw new Error(`calls that are not made: ${JSON.stringify(rest)}`);
      // An environment that has read the secret or the key does not read it again.
      await this.#service.engine.functions.recycle();
      const { ended, unmet } = await this.#runOnce(rest);
      runs.push(...ended);
      rest = unmet.map((point) => [point]);
    }
    return runs;
  }

  async #runOnce(queues: readonly (readonly Point[])[]): Promise<{ ended: readonly Run[]; unmet: readonly Point[] }> {
    const anywhere = Map.groupBy(
      queues.flat().filter(({ call }) => isOfAny(call)),
      ({ call }) => call,
    );
    const runs = sideBySide(queues);
    const names = new CallNames(this.#service, this.#dataset.messages);
    const revivals: Promise<void>[] = [];
    const fault = (call: AwsCall): Fault | undefined => {
      const delivery = deliveryOf(this.#service, call);
      const run = runs.find(({ requestId }) => requestId === delivery?.requestId);
      if (!delivery || !run) return undefined;
      const called = names.of(call, delivery);
      run.calls.add(called);
      // No message may fail so often that it is given up.
      const points = !isOfAny(called)
        ? run.ahead.get(messageOf(called))
        : delivery.received === 1
          ? anywhere.get(called)
          : undefined;
      const point = points?.[0];
      if (point?.call !== called) return undefined;
      points?.shift();
      if (inPlace.some((how) => how === point.how)) names.willBeRepeated(call, delivery);
      const revive = () =>
        revivals.push(passVisibilityTimeout(this.#service, delivery, this.#service.prefix(run.subject)));
      if (point.how === 'refused' && call.action === 'ChangeMessageVisibility') revive();
      return faultOf(point.how, call, () => {
        this.#service.engine.functions.invocation(delivery.invocation)?.kill();
        revive();
      });
    };
    const undo = this.#service.engine.traffic.addFault(fault);
    await this.#publish(runs);
    await until(async () => ((await this.#haveEnded(runs)) ? true : undefined), 'the exports to end', 90_000);
    await Promise.all(revivals);
    undo();
    const ahead = [anywhere, ...runs.map((run) => run.ahead)];
    return { ended: runs, unmet: ahead.flatMap((points) => [...points.values()].flat()) };
  }

  /** Publish export requests as the proxy does. */
  async #publish(runs: readonly Run[]): Promise<void> {
    const { datasetId } = this.#dataset;
    const publicKey = Buffer.from(this.#dataset.publicKey).toString('base64');
    const { ExportRequestsQueueUrl } = this.#service.connection.outputs;
    const publish = async ({ requestId, subject }: Run) => {
      const jwtToken = await this.#service.visa({ subject, datasetId });
      const body = JSON.stringify({ jwtToken, publicKey, datasetId });
      await this.#service.enqueue(ExportRequestsQueueUrl, body, { requestId });
    };
    await Promise.all(runs.map(publish));
  }

  /** Every file is staged, and the queues are empty. */
  async #haveEnded(runs: readonly Run[]): Promise<boolean> {
    const ids = runs.map(({ requestId }) => `'${requestId}'`).join();
    const [row] = await this.#service.sql(
      `select count(*) from data_out.export_log where event = 'staged' and request_id in (${ids})`,
    );
    if (Number(row?.[0]) < Object.keys(this.#dataset.messages).length * runs.length) return false;
    return areQueuesEmpty(this.#service);
  }
}

/** Either file may settle. With its own failures it would be given up. */
const mayMeet = (message: string, others: readonly string[]): boolean =>
  others.some((other) => other === message || other === settling || message === settling);

/** Exports in which no two queues of one message meet; at least one for each point of no message. */
function sideBySide(queues: readonly (readonly Point[])[]): readonly Run[] {
  const runs: Run[] = [];
  const start = () => {
    const run: Run = { requestId: randomUUID(), subject: randomUUID(), calls: new Set(), ahead: new Map() };
    runs.push(run);
    return run;
  };
  for (const queue of queues) {
    const [first] = queue;
    if (!first || isOfAny(first.call)) continue;
    const message = messageOf(first.call);
    const run = runs.find(({ ahead }) => !mayMeet(message, [...ahead.keys()])) ?? start();
    run.ahead.set(message, [...queue]);
  }
  const ofAny = queues.flat().filter(({ call }) => isOfAny(call)).length;
  while (runs.length < Math.max(1, ofAny)) start();
  return runs;
}

/** Names calls; keeps count of like calls of an invocation. */
class CallNames {
  readonly #service: Service;
  readonly #messages: Readonly<Record<string, string>>;
  readonly #counts = new Map<string, number>();

  constructor(service: Service, messages: Readonly<Record<string, string>>) {
    this.#service = service;
    this.#messages = messages;
  }

  of(call: AwsCall, { invocation, fileId }: Delivery): CallName {
    const what = this.#what(call);
    if (readsOnce(call)) return what;
    const count = (this.#counts.get(`${invocation} ${what}`) ?? 0) + 1;
    this.#counts.set(`${invocation} ${what}`, count);
    return `${this.#messageOf(what, fileId)}: ${what} ${count}`;
  }

  #messageOf(what: string, fileId: string | undefined): string {
    if (fileId === undefined) return 'request';
    return isOfSettling(what) ? settling : (this.#messages[fileId] ?? fileId);
  }

  /** The repeated call keeps its name. */
  willBeRepeated(call: AwsCall, { invocation }: Delivery): void {
    const key = `${invocation} ${this.#what(call)}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 1) - 1);
  }

  #what({ service, action, bucket, input }: AwsCall): string {
    const { OutboxBucketName } = this.#service.connection.outputs;
    const object = bucket && (bucket === OutboxBucketName ? 'outbox' : 'archive');
    const table = /(?:from|into) ((?:sda|data_out)\.\w+)/.exec(String(input?.sql))?.[1];
    return [service, action, object ?? table].filter(Boolean).join(' ');
  }
}
