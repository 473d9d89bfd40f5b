import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { localDiskFull } from '../../contract/connection.ts';
import { isCode } from '../errors.ts';
import { keepAliveMs, listen, readAll, refuseForeign, stopServer } from '../http.ts';
import type { AccessControl, Origin } from '../iam/access.ts';
import type { Credentials, Principal } from '../iam/credentials.ts';
import type { Permission } from '../iam/policy.ts';
import type { KeyUses } from '../kms/key-uses.ts';
import { invocationOf } from '../lambda/worker-protocol.ts';
import type { LocalS3 } from '../s3/local-s3.ts';
import { type S3Reply, sendReply } from '../s3/operation.ts';
import { parseS3Request, type S3Request } from '../s3/s3-request.ts';
import { authenticate } from './authenticate.ts';
import type { BufferedService } from './buffered-service.ts';
import { AwsError, type AwsReply, type AwsService, accessDenied, errorReply } from './errors.ts';
import type { AwsCall, Fault, Traffic } from './traffic.ts';

/** What the endpoint needs to serve. The services other than S3 are listed by their name in a signature's scope. */
export interface AwsServices {
  readonly credentials: Credentials;
  readonly s3: LocalS3;
  readonly buffered: Readonly<Record<Exclude<AwsService, 's3'>, BufferedService>>;
  readonly access: AccessControl;
  readonly keyUses: KeyUses;
  readonly traffic: Traffic;
  readonly now: () => Date;
}

/** Longest request of the RDS Data API, in bytes. */
const dataApiLimit = 4 * 1024 * 1024;

/**
 * One endpoint for all AWS services. Every request is authenticated by its signature and authorised by the policies of the
 * caller's role. It is counted, and a test can break it.
 *
 * @returns `url` without a final slash. The endpoint serves from `open` on; callers wait until then.
 */
export async function startAwsEndpoint() {
  const opened = Promise.withResolvers<AwsServices>();
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    if (refuseForeign(request, response)) return;
    const services = await opened.promise;
    await new Exchange(services, request, response).run();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = keepAliveMs;
  const port = await listen(server, [0]);
  return {
    url: `http://127.0.0.1:${port}`,
    open: opened.resolve,
    stop: () => stopServer(server),
  };
}

/** One request and its reply. */
class Exchange {
  readonly #services: AwsServices;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #service: AwsService = 's3';

  constructor(services: AwsServices, request: IncomingMessage, response: ServerResponse) {
    this.#services = services;
    this.#request = request;
    this.#response = response;
  }

  async run(): Promise<void> {
    try {
      await this.#answer();
    } catch (error) {
      if (this.#response.headersSent) this.#response.destroy();
      else if (error instanceof AwsError) await this.#send(errorReply(this.#service, error));
      else await this.#send(errorReply(this.#service, new AwsError(500, codeOf(error), String(error))));
    }
  }

  async #answer(): Promise<void> {
    const request = this.#request;
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
    const parts = { method: request.method ?? 'GET', path, query, headers: request.headers };
    const authentication = authenticate(parts, this.#services.credentials, this.#services.now());
    const { principal, presigned, service } = authentication;
    this.#service = service;
    const caller = presigned ? 'presigned' : principal.name;
    if (service === 's3') {
      authentication.verify('');
      const s3 = parseS3Request(parts.method, path, query, request.headers);
      await this.#answerS3(s3, principal, { ...this.#call(caller, s3.action), bucket: s3.bucket, key: s3.key });
      return;
    }
    const body = await readAll(request, dataApiLimit);
    if (!body) throw new AwsError(413, 'RequestEntityTooLargeException', 'the request is too large');
    authentication.verify(createHash('sha256').update(body).digest('hex'));
    const buffered = this.#services.buffered[service];
    const { action, input, permissions } = buffered.parse(path, request.headers, body, query, parts.method);
    const call = { ...this.#call(caller, action), input };
    this.#authorise(principal, call, permissions);
    this.#services.traffic.counterOf(call).bytesIn += body.length;
    await this.#carryOut(call, async () => buffered.handle(action, input, body, request.headers));
  }

  async #answerS3(s3: S3Request, principal: Principal, call: AwsCall): Promise<void> {
    this.#authorise(principal, call, s3.permissions, s3.keyAction);
    const counter = this.#services.traffic.counterOf(call);
    const request = this.#request;
    // A pause of the request also pauses this listener, so counting keeps back-pressure.
    request.on('data', (chunk: Uint8Array) => {
      counter.bytesIn += chunk.byteLength;
    });
    request.pause();
    await this.#carryOut(call, async () => {
      try {
        return await this.#services.s3.handle(s3, request);
      } catch (error) {
        if (!(error instanceof AwsError) || error.code !== 'NoSuchKey') throw error;
        // S3 hides from a caller who may not list whether a key is missing or forbidden. It takes the key as the prefix.
        const { bucket, key } = s3.copySource ?? s3;
        const context = { 's3:prefix': key };
        const readable = { action: 's3:ListBucket', resource: `arn:aws:s3:::${bucket}`, context };
        const { refusal } = this.#services.access.evaluate(principal, readable, originOf(principal, call));
        throw refusal ? new AwsError(403, 'AccessDenied', 'Access Denied') : error;
      }
    });
  }

  #call(caller: string, action: string): AwsCall {
    const { method = 'GET', url = '/', headers } = this.#request;
    const invocation = invocationOf(headers['x-amzn-trace-id']);
    return { caller, invocation, service: this.#service, action, method, url, headers };
  }

  #authorise(
    principal: Principal,
    call: AwsCall,
    permissions: readonly Permission[],
    keyAction: string = call.action,
  ): void {
    for (const permission of [...permissions, ...this.#services.keyUses(this.#service, keyAction, permissions)]) {
      const { refusal } = this.#services.access.evaluate(principal, permission, originOf(principal, call));
      if (refusal) throw accessDenied(this.#service, principal.arn, permission, refusal);
    }
  }

  async #carryOut(call: AwsCall, action: () => Promise<S3Reply | AwsReply>): Promise<void> {
    const { traffic } = this.#services;
    const counter = traffic.counterOf(call);
    counter.calls += 1;
    const fault = traffic.faultFor(call);
    try {
      if (fault?.delayMs) await sleep(fault.delayMs);
      if (fault && fault.when !== 'after' && (await this.#fail(fault))) return;
      const reply = await action().catch((error: unknown) => {
        if (error instanceof AwsError) return errorReply(this.#service, error);
        throw error;
      });
      if (fault?.when === 'after') {
        if (reply.body instanceof Readable) reply.body.destroy();
        if (await this.#fail(fault)) return;
      }
      await this.#send(reply, (bytes) => {
        counter.bytesOut += bytes;
      });
    } finally {
      traffic.ended(call, this.#response.destroyed && !this.#response.writableFinished ? 0 : this.#response.statusCode);
    }
  }

  async #fail({ action, drop, error }: Fault): Promise<boolean> {
    await action?.();
    if (drop) {
      // The response, because the connection stays open if a request is destroyed whose body has been read.
      this.#response.destroy();
      return true;
    }
    if (!error) return false;
    this.#request.resume();
    const { status, code, message = 'injected fault' } = error;
    await this.#send(errorReply(this.#service, new AwsError(status, code, message)));
    return true;
  }

  #send(reply: S3Reply | AwsReply, count?: (bytes: number) => void): Promise<void> {
    return sendReply(this.#request, this.#response, reply, count);
  }
}

/** `undefined` for an operator, and for a test that borrows the credentials of a function. */
function originOf({ sessionToken }: Principal, { caller, invocation }: AwsCall): Origin | undefined {
  if (sessionToken === undefined) return undefined;
  if (caller === 'presigned') return 'url';
  return invocation === undefined ? undefined : 'code';
}

function codeOf(error: unknown): string {
  return isCode(error, 'ENOSPC', 'EDQUOT') ? localDiskFull : 'InternalFailure';
}
