import { randomUUID } from 'node:crypto';
import { type DenyListEntry, denyListOf } from '../../lib/contract/deny-list.ts';
import type { FileExportMessage } from '../../lib/contract/messages.ts';
import { rdsCatalogue } from '../../lib/service/catalogue/catalogue.ts';
import { type ConsumeDependencies, consumeExportRequest } from '../../lib/service/export/accept.ts';
import { recordDeadLetter } from '../../lib/service/export/give-up.ts';
import type { OutboxQuota } from '../../lib/service/export/quota.ts';
import type { ReceivedMessage } from '../../lib/service/export/received.ts';
import { retryGivenUp } from '../../lib/service/export/retry.ts';
import { settleRequest } from '../../lib/service/export/settle/settle.ts';
import type { StageDependencies } from '../../lib/service/export/stage/order.ts';
import { type StagedMessage, stageFiles } from '../../lib/service/export/stage/stage.ts';
import { sweep } from '../../lib/service/export/sweep.ts';
import { type Withdrawal, withdrawDeprecated } from '../../lib/service/export/withdraw/withdraw.ts';
import type { DataApi, SqlExecutor } from '../../lib/service/stores/rds/data-api.ts';
import { type DatasetGrant, VisaError, type VisaErrorCode } from '../../lib/visas/index.ts';
import { TestDatabase } from './data-api.ts';
import { vector, vectorKey } from './export-world.ts';
import { FakeArchive } from './fake-archive.ts';
import { FakeOutbox } from './fake-outbox.ts';
import { PortCalls } from './port-calls.ts';
import { FakeSigner } from './receipt-signer.ts';

type QueueName = 'exportRequests' | 'fileExports' | 'smallFileExports' | 'deliveries';

interface QueuedMessage extends ReceivedMessage {
  receives: number;
}

/** Receives after which a queue puts a message aside. */
const mostReceives = 5;
/** Milliseconds that an invocation has. */
const longest = 900_000;

/** The recipient of most tests: the subject of the token `visa`. */
export const subject = { iss: 'https://issuer.example', sub: 'researcher' };
export const hoursFromNow = (hours: number) => new Date(Date.now() + hours * 3_600_000);

/**
 * The whole export over a real PostgreSQL: its functions, its queues and its buckets in memory. Each call of a port has its turn in
 * `calls` and can fail there, also each statement of a transaction. Archive key: alice of the vectors; the recipient is bob.
 */
export class ExportPipeline {
  readonly calls = new PortCalls();
  readonly archive = new FakeArchive(this.calls);
  readonly outbox = new FakeOutbox(this.calls, this.archive);
  readonly signer = new FakeSigner(this.calls);
  readonly queues: Record<QueueName, QueuedMessage[]> = {
    ...{ exportRequests: [], fileExports: [], smallFileExports: [], deliveries: [] },
  };
  readonly deadLetters: QueuedMessage[] = [];
  /** Files of each message group that was sent, by the recipient. */
  readonly groups = new Set<string>();
  readonly denied: DenyListEntry[] = [];
  /** The result of verification by token; every other token is malformed. */
  readonly visas = new Map<string, readonly DatasetGrant[] | VisaErrorCode>();
  quota: OutboxQuota | undefined;
  copySize: number | undefined;
  membersAtOnce: number | undefined;
  expiryDays = 30;
  receipts = true;
  now = new Date();
  /** Milliseconds that an invocation has left. */
  remainingMs = () => longest;
  readonly database: TestDatabase;
  readonly #api: DataApi;

  /** @param secretArn secret of the login that the functions have @default - the owner's */
  constructor(database: TestDatabase, secretArn?: string) {
    this.database = database;
    this.#api = database.dataApi(secretArn === undefined ? {} : { secretArn });
    this.grant('EGAD1');
  }

  /** With an empty database, and the visa `visa` for the dataset EGAD1. */
  static async open(): Promise<ExportPipeline> {
    return new ExportPipeline(await TestDatabase.shared());
  }

  // The archive.

  /** A released dataset with files of these bodies, or of as many bodies of 100 bytes. */
  async addDataset(datasetId: string, bodies: Readonly<Record<string, Uint8Array>> | readonly string[]): Promise<void> {
    await this.database.sql(`insert into sda.datasets (stable_id) values ('${datasetId}')`);
    await this.event(datasetId, 'released');
    const files = Array.isArray(bodies)
      ? bodies.map((id) => [id, Buffer.alloc(100, id)] as const)
      : Object.entries(bodies);
    for (const [fileId, body] of files) await this.addFile(datasetId, fileId, body);
  }

  async addFile(datasetId: string, fileId: string, body: Uint8Array): Promise<void> {
    this.archive.set(`bodies/${fileId}`, body);
    const header = vector('split/header.bin').toString('hex');
    await this.database.sql(`with file as (
        insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, decrypted_file_size, header)
        values ('${fileId}', 'dir/${fileId}.bin', 'bodies/${fileId}', ${body.length}, ${body.length}, '${header}')
        on conflict (stable_id) do update set archive_file_size = excluded.archive_file_size returning id)
      insert into sda.file_dataset (file_id, dataset_id)
      select file.id, d.id from file, sda.datasets d where d.stable_id = '${datasetId}'`);
  }

  async event(datasetId: string, event: 'released' | 'deprecated'): Promise<void> {
    await this.database.sql(
      `insert into sda.dataset_event_log (dataset_id, event) values ('${datasetId}', '${event}')`,
    );
  }

  /** Let a token grant datasets. */
  grant(datasetId: string, token = 'visa', more: Partial<DatasetGrant> = {}): void {
    this.visas.set(token, [{ subject, datasetId, expiresAt: hoursFromNow(24), dependsOn: [], ...more }]);
  }

  // The messages.

  /** Ask for an export, as the proxy does. @returns the id of the request */
  request(
    wanted: { readonly datasetId: string } | { readonly fileId: string } = { datasetId: 'EGAD1' },
    more: { readonly token?: string; readonly at?: Date; readonly id?: string } = {},
  ): string {
    const requestId = more.id ?? randomUUID();
    const { publicKey } = vectorKey('bob');
    const body = { jwtToken: more.token ?? 'visa', publicKey: Buffer.from(publicKey).toString('base64'), ...wanted };
    const requestedAt = (more.at ?? this.now).toISOString();
    this.put('exportRequests', body, { requestId, requestedAt, archiveKind: 'fega' });
    return requestId;
  }

  put(queue: QueueName, body: unknown, attributes: Readonly<Record<string, string>> = {}): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    this.queues[queue].push({ messageId: randomUUID(), body: text, sentAt: this.now, attributes, receives: 0 });
  }

  /** Messages of the two queues of files, as they are. */
  get sentFiles(): readonly FileExportMessage[] {
    return [...this.queues.fileExports, ...this.queues.smallFileExports].map(({ body }) => JSON.parse(body));
  }

  // The functions. Each is one invocation; a message that fails comes back.

  consume(): Promise<Awaited<ReturnType<typeof consumeExportRequest>> | undefined> {
    return this.#invoke('exportRequests', 1, async ([message]) => {
      if (!message) return undefined;
      return await consumeExportRequest(message, this.consuming, this.remainingMs);
    });
  }

  async stage(queue: 'fileExports' | 'smallFileExports' = 'smallFileExports'): Promise<readonly StagedMessage[]> {
    const most = queue === 'fileExports' ? 1 : 10;
    return (
      (await this.#invoke(
        queue,
        most,
        (messages) => stageFiles(messages, this.staging, this.remainingMs),
        (ends) => ends.map(({ end }) => end.outcome === 'failed'),
      )) ?? []
    );
  }

  settle(): Promise<Awaited<ReturnType<typeof settleRequest>> | undefined> {
    return this.#invoke('deliveries', 1, async ([message]) => {
      if (!message) return undefined;
      const { requestId } = JSON.parse(message.body) as { requestId: string };
      return await settleRequest(requestId, this.settling, this.remainingMs);
    });
  }

  /** Record the oldest dead letter. It stays when that fails. */
  async recordDeadLetter() {
    this.calls.revive();
    const [message] = this.deadLetters;
    if (!message) return undefined;
    const outcome = await recordDeadLetter(message, { db: this.db, deliveries: this.#deliveries });
    this.deadLetters.shift();
    return outcome;
  }

  /** Deliver messages until none is left. Of a failure in a message nothing is heard. @param order which queue comes next */
  async deliverAll(order: (names: readonly QueueName[]) => QueueName | undefined = ([first]) => first): Promise<void> {
    for (let rounds = 0; ; rounds += 1) {
      if (rounds > 10_000) throw new Error('the queues do not run empty');
      const names = (Object.keys(this.queues) as QueueName[]).filter((name) => this.queues[name].length > 0);
      const queue = order(names);
      if (queue !== undefined) await this.deliver(queue).catch(() => undefined);
      else if (this.deadLetters.length > 0) await this.recordDeadLetter();
      else return;
    }
  }

  async deliver(queue: QueueName): Promise<unknown> {
    if (queue === 'exportRequests') return await this.consume();
    return queue === 'deliveries' ? await this.settle() : await this.stage(queue);
  }

  async sweep() {
    const failures: unknown[] = [];
    const swept = await sweep(this.sweeping, this.remainingMs, (error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    return swept;
  }

  withdraw(limit = Number.POSITIVE_INFINITY, deletes = true): Promise<readonly Withdrawal[]> {
    return withdrawDeprecated(this.removing, { deletes, limit, isOver: () => false });
  }

  retry(requestId: string, fileId?: string) {
    return retryGivenUp(requestId, fileId, this.retrying);
  }

  async #invoke<T>(
    queue: QueueName,
    most: number,
    work: (messages: readonly QueuedMessage[]) => Promise<T>,
    failures: (result: T) => readonly boolean[] = () => [],
  ): Promise<T | undefined> {
    const messages = this.queues[queue].splice(0, most);
    for (const message of messages) message.receives += 1;
    this.calls.revive();
    const back = (failed: readonly QueuedMessage[]) => {
      for (const message of failed) {
        if (message.receives >= mostReceives) this.deadLetters.push(message);
        else this.queues[queue].push(message);
      }
    };
    try {
      const result = await work(messages);
      const failed = failures(result);
      // An invocation that died tells Lambda nothing.
      const isDead = !this.calls.isAlive;
      back(messages.filter((_, index) => isDead || failed[index]));
      return result;
    } catch (error) {
      back(messages);
      throw error;
    }
  }

  // The ports.

  /** Each statement has its turn in the calls, also within a transaction. */
  get db(): Pick<DataApi, 'query' | 'execute' | 'transaction'> {
    const counted = (to: SqlExecutor, name: string): SqlExecutor => ({
      query: (row, sql, parameters) => this.calls.run(`${name}.query`, () => to.query(row, sql, parameters)),
      execute: (sql, parameters) => this.calls.run(`${name}.execute`, () => to.execute(sql, parameters)),
    });
    return {
      ...counted(this.#api, 'db'),
      transaction: (work, budgetMs) =>
        this.calls.run('db.transaction', () =>
          this.#api.transaction((transaction) => work(counted(transaction, 'transaction')), budgetMs),
        ),
    };
  }

  #fileQueue(queue: 'fileExports' | 'smallFileExports') {
    return {
      send: (requestId: string, fileIds: readonly string[], recipient: string) =>
        this.calls.run(`${queue}.send`, () => {
          this.groups.add(recipient);
          for (const fileId of fileIds) this.put(queue, { requestId, fileId });
        }),
    };
  }

  get #deliveries() {
    return {
      send: (requestIds: readonly string[]) =>
        this.calls.run('deliveries.send', () => {
          for (const requestId of requestIds) this.put('deliveries', { requestId });
        }),
    };
  }

  get #sending() {
    return {
      ...{ db: this.db, deliveries: this.#deliveries },
      ...{ fileExports: this.#fileQueue('fileExports'), smallFileExports: this.#fileQueue('smallFileExports') },
    };
  }

  get sweeping() {
    return { ...this.#sending, now: () => this.now };
  }

  get retrying() {
    return { ...this.#sending, denied: () => this.#denyList(), quota: this.quota };
  }

  get removing() {
    const { db, outbox, expiryDays } = this;
    return { db, outbox, deliveries: this.#deliveries, expiryDays };
  }

  #denyList() {
    return this.calls.run('denyList', () => denyListOf({ denied: this.denied }));
  }

  get consuming(): ConsumeDependencies {
    const { membersAtOnce, quota } = this;
    return {
      ...{ ...this.#sending, quota, ...(membersAtOnce !== undefined && { membersAtOnce }) },
      ...{ catalogue: rdsCatalogue(this.db), rules: { verify: (token) => this.#verify(token) } },
    };
  }

  get staging(): StageDependencies {
    const { archive, outbox, copySize } = this;
    const candidates = () => this.calls.run('archiveKeys', () => [vectorKey('alice')] as const);
    return {
      ...{ ...this.#sending, archive, outbox, filesInFlight: 20, now: () => this.now },
      ...{ archiveKeys: { candidates }, denied: () => this.#denyList(), ...(copySize !== undefined && { copySize }) },
    };
  }

  get settling() {
    const receipts = { outbox: this.outbox, signer: this.signer, issuer: 'org.example.data-out' };
    return { db: this.db, now: () => this.now, ...(this.receipts && { receipts }) };
  }

  #verify(token: string) {
    return this.calls.run('verify', () => {
      const result = this.visas.get(token) ?? 'malformed_token';
      if (typeof result === 'string') throw new VisaError(result);
      const [{ expiresAt } = { expiresAt: hoursFromNow(24) }] = result;
      const datasetIds = new Set(result.map((grant) => grant.datasetId));
      return {
        kind: 'visa' as const,
        subject,
        subjects: [subject],
        grants: result,
        datasetIds,
        expiresAt,
        ignored: [],
      };
    });
  }

  // How it ended.

  async requestRow(requestId: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const [row] = await this.database.sql(
      `select to_json(r) from data_out.requests r where r.request_id = '${requestId}'`,
    );
    return row && JSON.parse(row[0] ?? '');
  }

  async fileRow(requestId: string, fileId: string): Promise<Readonly<Record<string, unknown>>> {
    const [row] = await this.database.sql(
      `select to_json(f) from data_out.request_files f where f.request_id = '${requestId}' and f.file_id = '${fileId}'`,
    );
    return JSON.parse(row?.[0] ?? '{}');
  }

  /** `file id: state`, and the reason if there is one, of a request. */
  async statesOf(requestId: string): Promise<readonly (string | null)[]> {
    const rows = await this.database.sql(
      `select file_id || ': ' || state || coalesce(' ' || reason, '') from data_out.request_files
       where request_id = '${requestId}' order by file_id`,
    );
    return rows.flat();
  }

  /** `event file reason` of the audit trail, oldest first. */
  async audit(): Promise<readonly string[]> {
    const rows = await this.database.sql(
      `select concat_ws(' ', event, file_id, reason) from data_out.export_log order by id`,
    );
    return rows.map(([text]) => text ?? '');
  }

  /** Names of the containers in the outbox, and of the receipts with `receipts`. */
  outboxNames(receipts = false): readonly string[] {
    const names = [...this.outbox.objects.keys()].map((key) => key.slice(key.indexOf('/') + 1));
    return names.filter((name) => name.endsWith('.delivery.jws') === receipts).sort();
  }
}
