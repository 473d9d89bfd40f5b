import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RDSDataClient } from '@aws-sdk/client-rds-data';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type Engine, type EngineOptions, startEngine } from '../../lib/local/engine.ts';
import { assembly } from './assembly.ts';

/** A line that a function wrote. */
export interface LogLine {
  readonly functionName: string;
  readonly line: string;
}

/** An entry of `GET /files`. */
export interface ListedFile {
  readonly fileName: string;
  readonly size: number;
}

/** A running engine, with what tests do with it again and again. */
export interface TestEngine extends Engine {
  /** AWS clients with an operator's credentials. */
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  readonly rdsData: RDSDataClient;
  readonly secretsManager: SecretsManagerClient;
  /** Every line of every function so far. */
  readonly logs: readonly LogLine[];
  /** JSON lines of one function with this `message`. */
  logged(functionName: string, message: string): Record<string, unknown>[];
  /** `fetch` of the proxy API as its administrator. @param path begins with a slash, without the stage. */
  adminFetch(path: string, init?: RequestInit): Promise<Response>;
  /** `fetch` of the proxy API with a visa and the archive user's credentials. */
  recipientFetch(path: string, visa: string, init?: RequestInit): Promise<Response>;
  /** `POST /export/fega`. @returns the reply; rejects when it is not 200. */
  requestExport(body: Readonly<Record<string, unknown>>): Promise<{ requestId: string; message: string }>;
  listOutbox(visa: string): Promise<readonly ListedFile[]>;
  /** Wait until the outbox lists this many files. */
  waitForOutbox(visa: string, count: number, timeoutMs?: number): Promise<readonly ListedFile[]>;
  /** Wait until `condition` gives something. */
  waitFor<T>(what: string, condition: () => Promise<T | undefined> | T | undefined, timeoutMs?: number): Promise<T>;
}

/** Start an engine of this test file's own; stop it in `afterAll`. */
export async function startTestEngine(options: Partial<EngineOptions> = {}): Promise<TestEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'data-out-test-'));
  const logs: LogLine[] = [];
  const engine = await startEngine({
    assemblyDir: options.assemblyDir ?? (await assembly()),
    connectionPath: join(folder, 'connection.json'),
    ...options,
    onLog: (functionName, line) => {
      logs.push({ functionName, line });
      options.onLog?.(functionName, line);
    },
  });
  const { connection } = engine;
  const client = { region: connection.region, credentials: connection.credentials };
  const s3 = new S3Client({ ...client, endpoint: connection.endpoints.s3 });
  const sqs = new SQSClient({ ...client, endpoint: connection.endpoints.sqs });
  const rdsData = new RDSDataClient({ ...client, endpoint: connection.endpoints.rdsData });
  const secretsManager = new SecretsManagerClient({ ...client, endpoint: connection.endpoints.secretsManager });

  const authorised = (user: { username: string; password: string }, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Basic ${btoa(`${user.username}:${user.password}`)}`);
    return { ...init, headers };
  };
  const adminFetch = (path: string, init?: RequestInit) =>
    fetch(connection.proxyUrl + path, authorised(connection.admin, init));
  const recipientFetch = (path: string, visa: string, init?: RequestInit) => {
    const request = authorised(connection.archiveUser, init);
    request.headers.set('x-ga4gh-visa', visa);
    return fetch(connection.proxyUrl + path, request);
  };
  const listOutbox = async (visa: string) => {
    const response = await recipientFetch('/files?inbox=false', visa);
    if (response.status !== 200) throw new Error(`GET /files: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { files: ListedFile[] }).files;
  };
  const waitFor: TestEngine['waitFor'] = async (what, condition, timeoutMs = 30_000) => {
    const until = Date.now() + timeoutMs;
    for (;;) {
      const value = await condition();
      if (value !== undefined) return value;
      if (Date.now() > until) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
      await sleep(50);
    }
  };

  return {
    ...engine,
    s3,
    sqs,
    rdsData,
    secretsManager,
    logs,
    logged: (functionName, message) =>
      logs
        .filter((entry) => entry.functionName === functionName && entry.line.startsWith('{'))
        .map((entry) => JSON.parse(entry.line) as Record<string, unknown>)
        .filter((entry) => entry['message'] === message),
    adminFetch,
    recipientFetch,
    listOutbox,
    waitFor,
    async requestExport(body) {
      const response = await adminFetch('/export/fega', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (response.status !== 200) throw new Error(`POST /export: ${response.status} ${await response.text()}`);
      return (await response.json()) as { requestId: string; message: string };
    },
    waitForOutbox: (visa, count, timeoutMs) =>
      waitFor(
        `${count} files in the outbox`,
        async () => {
          const files = await listOutbox(visa);
          return files.length >= count ? files : undefined;
        },
        timeoutMs,
      ),
    async stop() {
      for (const each of [s3, sqs, rdsData, secretsManager]) each.destroy();
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
