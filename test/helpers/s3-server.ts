import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3Client } from '@aws-sdk/client-s3';
import { AwsError, errorReply } from '../../lib/local/endpoint/errors.ts';
import { stopServer } from '../../lib/local/http.ts';
import { LocalS3 } from '../../lib/local/s3/local-s3.ts';
import { sendReply } from '../../lib/local/s3/operation.ts';
import { parseS3Request, type S3Request } from '../../lib/local/s3/s3-request.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { testClient } from './http-handler.ts';
import { listenLocally } from './loopback.ts';

/** What happens to the next request of an action: refused or dropped, before or after it was carried out. */
export interface S3Fault {
  readonly action: string;
  readonly carriedOut?: boolean;
  /** @default - the connection breaks */
  readonly error?: { readonly status: number; readonly code: string };
}

/** The embedded S3 on its own port. Faults repeat as often as they are listed. */
export class S3Server implements AsyncDisposable {
  readonly faults: S3Fault[] = [];
  /** Actions and keys that came, in order. */
  readonly requests: { readonly action: string; readonly key: string; readonly headers: IncomingMessage['headers'] }[] =
    [];
  readonly url: string;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#stop = stop;
  }

  static async start(...buckets: string[]): Promise<S3Server> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-s3-'));
    return await S3Server.startIn(folder, ...buckets);
  }

  /** On a folder that an earlier one may have used. It is removed at the end. */
  static async startIn(folder: string, ...buckets: string[]): Promise<S3Server> {
    const s3 = new LocalS3(folder, () => new Date());
    for (const bucket of buckets) s3.createBucket(bucket);
    const server = createServer((request, response) => {
      void test.#handle(s3, request).then(async (reply) => {
        if (!reply) return request.socket.destroy();
        return sendReply(request, response, reply);
      });
    });
    const test: S3Server = new S3Server(await listenLocally(server), async () => {
      await stopServer(server);
      await rm(folder, { recursive: true, force: true });
    });
    return test;
  }

  /** A client as the functions have it. */
  client(): S3Client {
    return s3Client({ ...testClient, endpoint: this.url });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  async #handle(s3: LocalS3, request: IncomingMessage) {
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
    try {
      const parsed = parseS3Request(request.method ?? 'GET', path, query, request.headers);
      this.requests.push({ action: parsed.action, key: parsed.key, headers: request.headers });
      const fault = this.#faultFor(parsed);
      if (!fault || fault.carriedOut) {
        const reply = await s3.handle(parsed, request);
        if (!fault) return reply;
      }
      if (!fault.error) return undefined;
      throw new AwsError(fault.error.status, fault.error.code, 'injected');
    } catch (error) {
      if (error instanceof AwsError) return errorReply('s3', error);
      throw error;
    }
  }

  #faultFor({ action }: S3Request): S3Fault | undefined {
    const index = this.faults.findIndex((fault) => fault.action === action);
    return index < 0 ? undefined : this.faults.splice(index, 1)[0];
  }
}
