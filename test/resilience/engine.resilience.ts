import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../lib/local/engine.ts';
import { RequestTooLargeException } from '../../lib/local/lambda/functions.ts';
import { writeFixtureAssembly } from '../e2e/local/fixtures/assembly.ts';
import { rawRequest } from '../helpers/raw-http.ts';
import { Service } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'data-out-fixture-'));
let service: Service;
let engine: Engine;
const get = (path: string, init?: RequestInit) => fetch(engine.connection.proxyUrl + path, init);

/** What the function `echo` answers. */
interface Echo {
  readonly event: Readonly<Record<string, unknown>> & {
    readonly headers: Readonly<Record<string, string>>;
    readonly requestContext: Readonly<Record<string, unknown>>;
  };
  readonly context: { functionName: string; invokedFunctionArn: string; remaining: number };
  readonly env: Readonly<Record<string, string>>;
  readonly calls: number;
  readonly pid: number;
  readonly trusted: string;
}
const echoOf = async (response: Response) => (await response.json()) as Echo;
const echo = async (path = '', init?: RequestInit) => echoOf(await get(`/echo${path}`, init));

beforeAll(async () => {
  writeFixtureAssembly(folder);
  service = await Service.start({ assemblyDir: folder, environment: { EXTRA: 'yes', COLOUR: 'from-test' } });
  engine = service.engine;
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a function', () => {
  it('gets the variables of the template, of Lambda and of the test, and none of the developer', async () => {
    process.env.DEVELOPER_SECRET = 'mine';
    const { env } = await echo();
    delete process.env.DEVELOPER_SECRET;
    expect(env).toMatchObject({
      COLOUR: 'from-test',
      EXTRA: 'yes',
      JOBS_URL: engine.connection.outputs.ExportRequestsQueueUrl,
      AWS_REGION: 'eu-north-1',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
      AWS_ENDPOINT_URL_S3: engine.connection.endpoints.s3,
      _HANDLER: 'index.handler',
    });
    expect(env.AWS_SESSION_TOKEN).not.toBe('');
    expect(env.AWS_ACCESS_KEY_ID).not.toBe(engine.connection.credentials.accessKeyId);
    expect(env).not.toHaveProperty('DEVELOPER_SECRET');
    expect(env).not.toHaveProperty('HOME');
    // The engine's, whose cache of compiled code its functions share.
    expect(process.env.NODE_COMPILE_CACHE).toBeDefined();
    expect(env).not.toHaveProperty('NODE_COMPILE_CACHE');
  });

  it('gets a context, and trusts the local issuer beside what the operator has', async () => {
    const { context, trusted } = await echo();
    expect(context.functionName).toMatch(/^Fixture-Echo-/);
    expect(context.invokedFunctionArn).toBe(`arn:aws:lambda:eu-north-1:000000000000:function:${context.functionName}`);
    expect(context.remaining).toBeGreaterThan(1000);
    expect(context.remaining).toBeLessThanOrEqual(2000);
    const issuers = JSON.parse(trusted);
    expect(issuers.map(({ iss }: { iss: string }) => iss)).toEqual([
      'https://operator.example/',
      engine.connection.issuer.iss,
    ]);
    expect(issuers[1].jwks).toEqual(JSON.parse(readFileSync(engine.connection.issuer.jwksPath, 'utf8')));
  });

  it('that throws is a 502, leaves its error in the log, and continues', async () => {
    const response = await get('/echo?do=throw');
    expect([response.status, await response.json()]).toEqual([502, { message: 'Internal server error' }]);
    expect(service.logs.some(({ functionName, line }) => functionName === 'echo' && line.includes('on purpose'))).toBe(
      true,
    );
    expect((await get('/echo')).status).toBe(200);
  });
});

describe('a REQUEST authorizer', () => {
  it('is not asked without its identity source; the gateway response has the form of the template', async () => {
    const before = service.logs.filter(({ functionName }) => functionName === 'gate').length;
    const response = await get('/guarded');
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Basic realm="x"');
    expect(response.headers.get('x-told')).toBe('who');
    const id = response.headers.get('x-amzn-requestid');
    expect(await response.json()).toEqual({ code: 'who', id, said: 'Unauthorized' });
    expect(service.logs.filter(({ functionName }) => functionName === 'gate')).toHaveLength(before);
  });
});

it('a streamed reply is asked for by at most 6 MB', async () => {
  const streamed = engine.functions.invokeStreaming('echo', { filler: 'x'.repeat(7_000_000) });
  await expect(streamed.next()).rejects.toThrow(RequestTooLargeException);
});

describe('a web page', () => {
  it.each([
    ['under its own name that leads here', { Host: 'rebound.example' }],
    ['of another origin', { Origin: 'https://elsewhere.example' }],
    ['without its own origin', { Origin: 'null' }],
  ])('%s is refused by the APIs and by the AWS services', async (_, headers) => {
    const { proxyUrl, dataOutUrl = '', endpoints } = engine.connection;
    for (const url of [proxyUrl, dataOutUrl, endpoints.s3]) {
      const reply = await rawRequest(url, 'echo', { headers });
      expect([reply.status, reply.text]).toEqual([403, 'The local engine serves this machine only.\n']);
    }
  });

  it('that is served from this machine is answered', async () => {
    const { status } = await rawRequest(engine.connection.proxyUrl, 'echo', {
      headers: { Origin: 'http://localhost:3000' },
    });
    expect(status).toBe(200);
  });
});
