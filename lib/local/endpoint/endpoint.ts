import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { localDiskFull } from '../../contract/connection.ts';
import { isCode } from '../errors.ts';
import { openLater, readAll, refuseForeign } from '../http.ts';
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
 */
export const startAwsEndpoint = () => openLater([0], exchange);

/** One request and its reply. */
async function exchange(services: AwsServices, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (refuseForeign(request, response)) return;
  const { access, traffic } = services;
  let service: AwsService = 's3';
  try {
    await answer();
  } catch (error) {
    if (response.headersSent) response.destroy();
    else if (error instanceof AwsError) await send(errorReply(service, error));
    else await send(errorReply(service, new AwsError(500, codeOf(error), String(error))));
  }

  async function answer(): Promise<void> {
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
    const parts = { method: request.method ?? 'GET', path, query, headers: request.headers };
    const authentication = authenticate(parts, services.credentials, services.now());
    const { principal, presigned } = authentication;
    service = authentication.service;
    const caller = presigned ? 'presigned' : principal.name;
    if (service === 's3') {
      await authentication.verify('');
      const s3 = parseS3Request(parts.method, path, query, request.headers);
      await answerS3(s3, principal, { ...callOf(caller, s3.action), bucket: s3.bucket, key: s3.key });
      return;
    }
    const body = await readAll(request, dataApiLimit);
    if (!body) throw new AwsError(413, 'RequestEntityTooLargeException', 'the request is too large');
    await authentication.verify(createHash('sha256').update(body).digest('hex'));
    const buffered = services.buffered[service];
    const { action, input, permissions } = buffered.parse(path, request.headers, body, query, parts.method);
    const call = { ...callOf(caller, action), input };
    authorise(principal, call, permissions);
    traffic.counterOf(call).bytesIn += body.length;
    await carryOut(call, async () => buffered.handle(action, input, body, request.headers));
  }

  async function answerS3(s3: S3Request, principal: Principal, call: AwsCall): Promise<void> {
    authorise(principal, call, s3.permissions, s3.keyAction);
    const counter = traffic.counterOf(call);
    // A pause of the request also pauses this listener, so counting keeps back-pressure.
    request.on('data', (chunk: Uint8Array) => {
      counter.bytesIn += chunk.byteLength;
    });
    request.pause();
    await carryOut(call, async () => {
      try {
        return await services.s3.handle(s3, request);
      } catch (error) {
        if (!(error instanceof AwsError) || error.code !== 'NoSuchKey') throw error;
        // S3 hides from a caller who may not list whether a key is missing or forbidden. It takes the key as the prefix.
        const { bucket, key } = s3.copySource ?? s3;
        const context = { 's3:prefix': key };
        const readable = { action: 's3:ListBucket', resource: `arn:aws:s3:::${bucket}`, context };
        const { refusal } = access.evaluate(principal, readable, originOf(principal, call));
        throw refusal ? new AwsError(403, 'AccessDenied', 'Access Denied') : error;
      }
    });
  }

  function callOf(caller: string, action: string): AwsCall {
    const { method = 'GET', url = '/', headers } = request;
    const invocation = invocationOf(headers['x-amzn-trace-id']);
    return { caller, invocation, service: service, action, method, url, headers };
  }

  function authorise(
    principal: Principal,
    call: AwsCall,
    permissions: readonly Permission[],
    keyAction: string = call.action,
  ): void {
    for (const permission of [...permissions, ...services.keyUses(service, keyAction, permissions)]) {
      const { refusal } = access.evaluate(principal, permission, originOf(principal, call));
      if (refusal) throw accessDenied(service, principal.arn, permission, refusal);
    }
  }

  async function carryOut(call: AwsCall, action: () => Promise<S3Reply | AwsReply>): Promise<void> {
    const counter = traffic.counterOf(call);
    counter.calls += 1;
    const fault = traffic.faultFor(call);
    try {
      if (fault?.delayMs) await sleep(fault.delayMs);
      if (fault && fault.when !== 'after' && (await fail(fault))) return;
      const reply = await action().catch((error: unknown) => {
        if (error instanceof AwsError) return errorReply(service, error);
        throw error;
      });
      if (fault?.when === 'after') {
        if (reply.body instanceof Readable) reply.body.destroy();
        if (await fail(fault)) return;
      }
      await send(reply, (bytes) => {
        counter.bytesOut += bytes;
      });
    } finally {
      traffic.ended(call, response.destroyed && !response.writableFinished ? 0 : response.statusCode);
    }
  }

  async function fail({ action, drop, error }: Fault): Promise<boolean> {
    await action?.();
    if (drop) {
      // The response, because the connection stays open if a request is destroyed whose body has been read.
      response.destroy();
      return true;
    }
    if (!error) return false;
    request.resume();
    const { status, code, message = 'injected fault' } = error;
    await send(errorReply(service, new AwsError(status, code, message)));
    return true;
  }

  function send(reply: S3Reply | AwsReply, count?: (bytes: number) => void): Promise<void> {
    return sendReply(request, response, reply, count);
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
