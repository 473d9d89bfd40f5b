import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand, PurgeQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { importJWK, type JWTPayload, SignJWT } from 'jose';
import { hashPassword } from '../../lib/common/password-hash.ts';
import type { Connection } from '../../lib/contract/connection.ts';
import { isReceiptName } from '../../lib/contract/delivery.ts';
import { outboxPrefix } from '../../lib/contract/outbox-key.ts';
import { formatPublicKey } from '../../lib/crypt4gh/index.ts';
import { type Engine, type EngineOptions, startEngine } from '../../lib/local/engine.ts';
import { type AddedFile, addFile } from '../../lib/ops/archive/add-file.ts';
import { setDatasetEvent } from '../../lib/ops/commands/dataset.ts';
import { readArchiveKeys } from '../../lib/ops/secrets/archive-keys.ts';
import { localTarget } from '../../lib/ops/target.ts';
import { recordAccess } from '../grants/recording.ts';
import { assembly } from './assembly.ts';
import { basic as basicHeader } from './http-request.ts';
import { bytesOf } from './made-files.ts';
import { type RawReply, type RawRequest, rawRequest } from './raw-http.ts';

export interface LogLine {
  readonly functionName: string;
  readonly line: string;
}

export interface AuditRow {
  readonly event: string;
  readonly reason: string | null;
  readonly datasetId: string | null;
  readonly fileId: string | null;
  readonly recipient: string | null;
  readonly bytes: number | null;
}

/** A row of `GET /files`. */
export interface ListedFile {
  readonly fileName: string;
  readonly size: number;
  readonly modifiedDate: string;
  readonly href: string;
  readonly expiryDate: string;
}

/** One for each worker: its test files run in one after the other. */
let shared: Promise<Service> | undefined;
/** Whether what its callers do is recorded for the proof of the functions' rights. */
let isRecorded = true;

export interface VisaChoices {
  readonly subject?: string;
  readonly datasetId?: string;
  /** Over the claims of a good visa; `undefined` removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/**
 * The whole service from the synthesized template, as its users meet it: over HTTP with their own credentials, plus what
 * only a test may do (look behind, break calls). One for each test file that needs it.
 */
export class Service {
  readonly engine: Engine;
  readonly logs: LogLine[];
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  readonly secretsManager: SecretsManagerClient;
  readonly #folder: string;

  private constructor(engine: Engine, logs: LogLine[], folder: string) {
    this.engine = engine;
    this.logs = logs;
    this.#folder = folder;
    const { region, credentials, endpoints } = engine.connection;
    this.s3 = new S3Client({ region, credentials, endpoint: endpoints.s3, forcePathStyle: true });
    this.sqs = new SQSClient({ region, credentials, endpoint: endpoints.sqs });
    this.secretsManager = new SecretsManagerClient({ region, credentials, endpoint: endpoints.secretsManager });
  }

  /** Failed messages come back after a second, not minutes. */
  static async start(options: Partial<EngineOptions> = {}): Promise<Service> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-e2e-'));
    const logs: LogLine[] = [];
    const engine = await startEngine({
      connectionPath: join(folder, 'connection.json'),
      ...(recordAccess && { onAccess: recordAccess }),
      ...options,
      assemblyDir: options.assemblyDir ?? (await assembly()),
      mostRetrySeconds: 1,
      onLog: (functionName, line) => logs.push({ functionName, line }),
    });
    return new Service(engine, logs, folder);
  }

  /**
   * The service that all files of one worker share, empty again: no file of the archive, no container, no audit row, no
   * message, no dead letter. For tests that put no engine out of order and change no secret. Its end is the worker's end.
   */
  static async shared(options = { isRecorded: true }): Promise<Service> {
    isRecorded = options.isRecorded;
    shared ??= Service.start({ onAccess: (entry) => isRecorded && recordAccess?.(entry) });
    const service = await shared;
    await service.#empty();
    return service;
  }

  async #empty(): Promise<void> {
    const { archiveUser, outputs } = this.connection;
    await until(async () => {
      const depths = await Promise.all(workQueueUrls(outputs).map((url) => this.queueDepth(url)));
      return depths.every((depth) => depth === 0) ? true : undefined;
    }, 'the queues to be empty');
    for (const [name, QueueUrl] of Object.entries(outputs)) {
      if (name.endsWith('DeadLetterQueueUrl')) await this.sqs.send(new PurgeQueueCommand({ QueueUrl }));
    }
    const catalogue = ['files', 'datasets', 'file_dataset', 'dataset_references', 'checksums', 'dataset_event_log'];
    await this.sql(`truncate ${catalogue.map((table) => `sda.${table}`).join(', ')} restart identity cascade`);
    await this.sql('truncate data_out.export_log, data_out.requests, data_out.request_files restart identity');
    await this.sql(`delete from data_out.archive_users where username <> '${archiveUser.username}'`);
    for (const Bucket of [outputs.ArchiveBucketName, outputs.OutboxBucketName]) {
      for (;;) {
        const { Contents = [] } = await this.s3.send(new ListObjectsV2Command({ Bucket }));
        if (Contents.length === 0) break;
        const Objects = Contents.map(({ Key }) => ({ Key }));
        await this.s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
      }
    }
    this.engine.traffic.resetCounters();
    this.logs.length = 0;
  }

  /** A shared service continues. */
  async stop(): Promise<void> {
    if (this === (await shared)) return;
    this.s3.destroy();
    this.sqs.destroy();
    this.secretsManager.destroy();
    await this.engine.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** With the direct API, which all templates of these tests have unless they say otherwise. */
  get connection(): Connection & { readonly dataOutUrl: string } {
    const { connection } = this.engine;
    const { dataOutUrl } = connection;
    if (dataOutUrl === undefined) throw new Error('this service has no direct API: use engine.connection');
    return { ...connection, dataOutUrl };
  }

  /** Fill the archive with the operator's code. Content is a function of path and size. */
  async archive(datasetId: string, path: string, size: number, fileId?: string): Promise<AddedFile> {
    return await this.archiveBytes(datasetId, path, bytesOf({ path, size }), fileId);
  }

  /** The same with this content, a plaintext or a container. */
  async archiveBytes(
    datasetId: string,
    path: string,
    bytes: AsyncIterable<Uint8Array>,
    fileId?: string,
  ): Promise<AddedFile> {
    const target = localTarget(this.connection);
    const keys = await readArchiveKeys(target.archiveKeys);
    const input = { label: path, size: undefined, bytes };
    return await addFile(target, { datasetId, path, input, keys, ...(fileId && { fileId }) });
  }

  async setDataset(datasetId: string, event: 'released' | 'deprecated'): Promise<void> {
    await setDatasetEvent(localTarget(this.connection), datasetId, event);
  }

  /** A visa of the local issuer, good for an hour. */
  async visa({ subject = 'researcher', datasetId = 'EGAD1', claims = {} }: VisaChoices = {}): Promise<string> {
    const { iss } = this.connection.issuer;
    const asserted = Math.floor(Date.now() / 1000);
    const visa = { type: 'ControlledAccessGrants', asserted, value: datasetId, source: iss, by: 'dac' };
    return await this.#sign('vnd.ga4gh.visa+jwt', subject, { ga4gh_visa_v1: visa, ...claims });
  }

  /** A passport of the local issuer around visas. */
  passport(subject: string, visas: readonly string[]): Promise<string> {
    return this.#sign('vnd.ga4gh.passport+jwt', subject, { ga4gh_passport_v1: visas });
  }

  async #sign(typ: string, subject: string, claims: Readonly<Record<string, unknown>>): Promise<string> {
    const { iss, privateKeyPath } = this.connection.issuer;
    const jwk = JSON.parse(await readFile(privateKeyPath, 'utf8')) as { alg: string; kid: string };
    const now = Math.floor(Date.now() / 1000);
    return await new SignJWT({ iss, sub: subject, iat: now, exp: now + 3600, ...claims } as JWTPayload)
      .setProtectedHeader({ typ, alg: jwk.alg, kid: jwk.kid })
      .sign(await importJWK(jwk, jwk.alg));
  }

  url(path: string): string {
    return `${this.connection.proxyUrl.replace(/\/$/, '')}/${path}`;
  }

  /** `POST /export/fega` as the administrator; `init` overrides. */
  export(body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(this.url('export/fega'), {
      method: 'POST',
      headers: { Authorization: basic(this.connection.admin), 'Content-Type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    });
  }

  /** An export that the proxy takes. @returns its request id */
  async exported(request: {
    id: string;
    visa: string;
    publicKey: Uint8Array;
    type?: 'datasetId' | 'fileId';
  }): Promise<string> {
    const { id, visa, publicKey, type } = request;
    const response = await this.export({
      id,
      ...(type && { type }),
      visaToken: visa,
      userPublicKey: formatPublicKey(publicKey),
    });
    if (response.status !== 200) throw new Error(`export answered ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { requestId: string }).requestId;
  }

  researcher(visa: string): Record<string, string> {
    return { Authorization: basic(this.connection.archiveUser), 'X-GA4GH-Visa': visa };
  }

  /** `GET` on the proxy as a researcher; redirects are not followed. */
  get(path: string, visa: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.url(path), { headers: this.researcher(visa), redirect: 'manual', ...init });
  }

  /** A request of the direct API; `token` is a visa or a passport, `headers` of `init` override. */
  direct(path: string, token?: string, init: RawRequest = {}): Promise<RawReply> {
    const headers = { ...(token !== undefined && { Authorization: `Bearer ${token}` }), ...init.headers };
    return rawRequest(this.connection.dataOutUrl, path, { ...init, headers });
  }

  /** The containers of the listing. */
  async list(visa: string, query = ''): Promise<readonly ListedFile[]> {
    const response = await this.get(`files?inbox=false${query}`, visa);
    if (response.status !== 200) throw new Error(`files answered ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { files: ListedFile[] }).files;
  }

  /** The listing, delivery receipts included. */
  listAll(visa: string): Promise<readonly ListedFile[]> {
    return this.list(visa, '&receipts=true');
  }

  /** The whole container, by redirect, credentials left behind. */
  async download(visa: string, fileName: string): Promise<Buffer> {
    const redirect = await this.get(`stream/${encodeURIComponent(fileName)}`, visa);
    const location = redirect.headers.get('location');
    if (redirect.status !== 307 || !location) throw new Error(`stream answered ${redirect.status}`);
    const response = await fetch(location);
    if (response.status !== 200) throw new Error(`S3 answered ${response.status}: ${await response.text()}`);
    return Buffer.from(await response.arrayBuffer());
  }

  async sql(text: string): Promise<readonly (readonly (string | null)[])[]> {
    return (await this.engine.database.run(text, [])).rows;
  }

  /** What the audit trail has of one request, oldest first, except the row `settled`, which follows some time later. */
  async audit(requestId: string): Promise<readonly AuditRow[]> {
    if (!/^[0-9a-f-]{36}$/.test(requestId)) throw new RangeError('expected a UUID');
    const rows = await this.sql(
      `select event, reason, dataset_id, file_id, recipient, bytes from data_out.export_log
       where request_id = '${requestId}' and event <> 'settled' order by id`,
    );
    return rows.map(([event, reason, datasetId, fileId, recipient, bytes]) => ({
      event: event ?? '',
      reason: reason ?? null,
      datasetId: datasetId ?? null,
      fileId: fileId ?? null,
      recipient: recipient ?? null,
      bytes: bytes ? Number(bytes) : null,
    }));
  }

  /** Wait until the audit trail has the request rejected, or `files` files of it staged. */
  async settled(requestId: string, files = 1, patienceMs = 45_000): Promise<readonly AuditRow[]> {
    return await until(
      async () => {
        const rows = await this.audit(requestId);
        const staged = rows.filter(({ event }) => event === 'staged').length;
        return rows.some(({ event }) => event === 'rejected') || staged >= files ? rows : undefined;
      },
      `request ${requestId} to settle`,
      patienceMs,
    );
  }

  /** Keys of the containers in the outbox; default: of all recipients. */
  async outboxKeys(subject?: string): Promise<readonly string[]> {
    return (await this.allOutboxKeys(subject)).filter((key) => !isReceiptName(key));
  }

  /** The same, with delivery receipts. */
  async allOutboxKeys(subject?: string): Promise<readonly string[]> {
    const keys: string[] = [];
    for (let token: string | undefined; ; ) {
      const page = await this.s3.send(
        new ListObjectsV2Command({
          Bucket: this.connection.outputs.OutboxBucketName,
          Prefix: subject === undefined ? '' : `${this.prefix(subject)}/`,
          ContinuationToken: token,
        }),
      );
      keys.push(...(page.Contents ?? []).map(({ Key = '' }) => Key));
      token = page.NextContinuationToken;
      if (!token) return keys;
    }
  }

  /** S3 with the credentials of a function, by its short name. The calls count as the function's, except the proof of its rights. */
  s3As(name: string): S3Client {
    const { accessKeyId, secretAccessKey, sessionToken = '' } = this.engine.functions.definition(name).principal;
    const { region, endpoints } = this.connection;
    const credentials = { accessKeyId, secretAccessKey, sessionToken };
    return new S3Client({ region, credentials, endpoint: endpoints.s3, forcePathStyle: true, maxAttempts: 1 });
  }

  /** S3 as the one that may write this key of the outbox, which refuses containers and receipts of an operator. */
  s3For(key: string): S3Client {
    if (isReceiptName(key)) return this.s3As('settle-delivery');
    if (key.startsWith('direct/')) return this.s3As('direct-file');
    return key.endsWith('.c4gh') ? this.s3As('stage-file') : this.s3;
  }

  /** Put something into a recipient's part of the outbox, as if it had been staged. */
  async putStaged(subject: string, name: string, content = ''): Promise<void> {
    const Key = `${this.prefix(subject)}/${name}`;
    await this.s3For(Key).send(
      new PutObjectCommand({ Bucket: this.connection.outputs.OutboxBucketName, Key, Body: Buffer.from(content) }),
    );
  }

  prefix(subject: string): string {
    return outboxPrefix({ iss: this.connection.issuer.iss, sub: subject });
  }

  async object(bucket: 'ArchiveBucketName' | 'OutboxBucketName', key: string): Promise<Buffer> {
    const { Body } = await this.s3.send(new GetObjectCommand({ Bucket: this.connection.outputs[bucket], Key: key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  }

  /** Make a user of the central archive known. */
  async addArchiveUser(username: string, password: string): Promise<{ username: string; password: string }> {
    const quoted = [username, await hashPassword(password)].map((text) => `'${text.replaceAll("'", "''")}'`);
    await this.sql(`insert into data_out.archive_users (username, password_hash) values (${quoted.join(', ')})`);
    return { username, password };
  }

  /** How often a function has called an action, for example `export sqs SendMessage`. */
  calls(action: string): number {
    return this.engine.traffic.counters()[action]?.calls ?? 0;
  }

  /** Messages that a queue holds, waiting and in flight. */
  async queueDepth(queueUrl: string): Promise<number> {
    const { Attributes = {} } = await this.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
    );
    return (
      Number(Attributes.ApproximateNumberOfMessages ?? 0) +
      Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0)
    );
  }

  /** Put a message into a queue, past the policies by which it takes messages of its sender only. @returns its id */
  async enqueue(queueUrl: string, body: string, attributes: Readonly<Record<string, string>> = {}): Promise<string> {
    const { MessageId } = await this.engine.queues.sqs('SendMessage', {
      QueueUrl: queueUrl,
      MessageBody: body,
      MessageAttributes: Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [name, { DataType: 'String', StringValue: value }]),
      ),
    });
    return String(MessageId);
  }
}

export function basic({ username, password }: { username: string; password: string }): string {
  return basicHeader(username, password);
}

/** Ask until there is an answer. @throws Error that names `what` after `patienceMs` */
export async function until<T>(
  ask: () => Promise<T | undefined> | T | undefined,
  what: string,
  patienceMs = 45_000,
): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${patienceMs} ms for ${what}`);
    await pause(100);
  }
}

/** URLs of the queues that functions work on. */
export function workQueueUrls(outputs: Service['connection']['outputs']): readonly string[] {
  const { ExportRequestsQueueUrl, FileExportsQueueUrl, SmallFileExportsQueueUrl, DeliveriesQueueUrl } = outputs;
  return [ExportRequestsQueueUrl, FileExportsQueueUrl, SmallFileExportsQueueUrl, DeliveriesQueueUrl];
}
