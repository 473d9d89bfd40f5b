import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { vi } from 'vitest';
import type { AwsCall } from '../../lib/local/endpoint/traffic.ts';
import type { Trace } from './secret-search.ts';
import type { Service } from './service.ts';

/** Everything that a service wrote since the recorder began and that its users or operators can read. */
export class TraceRecorder {
  readonly #service: Service;
  readonly #passing: Trace[] = [];
  readonly #end: () => void;

  /** Record replies to `fetch` and what the functions send to AWS from now on. */
  constructor(service: Service) {
    this.#service = service;
    const endObserving = service.engine.traffic.observe((call) => {
      // An operator writes secrets on purpose, and a presigned URL has to hold the session token.
      if (call.caller !== 'operator' && call.caller !== 'presigned') this.#passing.push(traceOf(call));
    });
    const { proxyUrl, dataOutUrl, endpoints } = service.connection;
    const originalFetch = globalThis.fetch;
    const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const response = await originalFetch(input, init);
      if ([proxyUrl, dataOutUrl, endpoints.s3].some((url) => response.url.startsWith(url))) {
        const source = `reply ${init?.method ?? 'GET'} ${new URL(response.url).pathname}`;
        const body = Buffer.from(await response.clone().arrayBuffer()).toString('latin1');
        this.#passing.push({ source, text: JSON.stringify([response.status, [...response.headers]]) + body });
      }
      return response;
    });
    this.#end = () => {
      endObserving();
      spy.mockRestore();
    };
  }

  /** Stop recording. @returns what was recorded, and what lies in logs, tables, buckets and queues now */
  async end(): Promise<readonly Trace[]> {
    this.#end();
    const parts = [this.#logs(), this.#tables(), this.#buckets(), this.#queues()];
    return [...this.#passing, ...(await Promise.all(parts)).flat()];
  }

  /** The lines as they came, and the files in which they are kept. */
  async #logs(): Promise<Trace[]> {
    const { logs, connection } = this.#service;
    const lines = logs.map(({ functionName, line }) => ({ source: `log ${functionName}`, text: line }));
    const names = await readdir(connection.logsDir);
    const read = async (name: string) => ({
      source: `log file ${name}`,
      text: await readFile(join(connection.logsDir, name), 'latin1'),
    });
    return [...lines, ...(await Promise.all(names.map(read)))];
  }

  async #tables(): Promise<Trace[]> {
    const tables = await this.#service.sql(
      "select table_schema || '.' || table_name from information_schema.tables where table_schema in ('sda', 'data_out')",
    );
    return await Promise.all(
      tables.map(async ([name]) => ({
        source: `table ${name}`,
        text: JSON.stringify(await this.#service.sql(`select row_to_json(t)::text from ${name} t`)),
      })),
    );
  }

  /** Keys and metadata of all objects. */
  async #buckets(): Promise<Trace[]> {
    const { s3, connection } = this.#service;
    const traces: Trace[] = [];
    for (const output of ['ArchiveBucketName', 'OutboxBucketName'] as const) {
      const Bucket = connection.outputs[output];
      const { Contents = [], IsTruncated } = await s3.send(new ListObjectsV2Command({ Bucket }));
      if (IsTruncated) throw new Error('more objects than one page lists');
      for (const { Key } of Contents) {
        const { $metadata: _, ...head } = await s3.send(new HeadObjectCommand({ Bucket, Key }));
        traces.push({ source: `object of ${output}`, text: JSON.stringify({ Key, head }) });
      }
    }
    return traces;
  }

  /** Messages that are left. */
  async #queues(): Promise<Trace[]> {
    const { sqs, connection } = this.#service;
    const urls = Object.entries(connection.outputs).filter(([name]) => name.endsWith('QueueUrl'));
    const received = await Promise.all(
      urls.map(async ([name, QueueUrl]) => {
        const { Messages = [] } = await sqs.send(
          new ReceiveMessageCommand({
            QueueUrl,
            MaxNumberOfMessages: 10,
            AttributeNames: ['All'],
            MessageAttributeNames: ['All'],
          }),
        );
        return Messages.map((message) => ({ source: `message in ${name}`, text: JSON.stringify(message) }));
      }),
    );
    return received.flat();
  }
}

/** What a function says to AWS: the input of the JSON services; address and metadata for S3. */
function traceOf({ caller, service, action, input, url, headers }: AwsCall): Trace {
  const metadata = Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-'));
  return {
    source: `call of ${caller}: ${service} ${action}`,
    text: JSON.stringify([decodeURIComponent(url), input, metadata]),
  };
}
