import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { connectTarget, type GlobalOptions } from '../../../lib/ops/target.ts';
import { exampleConnection, makeTerminal } from '../../helpers/ops-world.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-target-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function connectionFile(name: string, proxyUrl: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, JSON.stringify({ ...exampleConnection, proxyUrl }));
  return file;
}

const connect = (options: Partial<GlobalOptions>, env = {}) =>
  connectTarget(options, makeTerminal({ folder, env }).terminal);

/** A server on its own port, and its URL. */
async function listen(listener: RequestListener): Promise<{ server: Server; url: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

describe('the local engine', () => {
  test('is found by the option, then by the variable, then in the folder', async () => {
    // What API Gateway answers to a path that it does not know.
    const { server, url } = await listen((_request, response) => response.writeHead(403).end('{}'));
    await connectionFile('.local/connection.json', `${url}/folder`);
    const byVariable = await connectionFile('variable.json', `${url}/variable`);
    await connectionFile('option.json', `${url}/option`);
    const env = { DATA_OUT_CONNECTION: byVariable };
    expect((await connect({ connection: 'option.json' }, env)).description).toBe(`local engine ${url}/option`);
    expect((await connect({}, env)).description).toBe(`local engine ${url}/variable`);
    expect((await connect({})).description).toBe(`local engine ${url}/folder`);
    await close(server);
  });

  test('a named file that is missing is not replaced by another', async () => {
    await connectionFile('.local/connection.json', 'http://127.0.0.1:1/folder');
    await expect(connect({ connection: 'gone.json' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(connect({}, { DATA_OUT_CONNECTION: 'gone.json' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('without a file and without --aws nothing is guessed', async () => {
    await expect(connect({})).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/npm start.*DATA_OUT_CONNECTION.*--aws/),
    });
  });
});

describe('options of the other kind of target are refused, not ignored', () => {
  test.each([
    [{ stage: 'test' }, '--stage'],
    [{ region: 'eu-north-1' }, '--region'],
    [{ aws: true, connection: 'x.json' }, '--connection'],
  ])('%j', async (options, field) => {
    await expect(connect(options)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(`${field}: `),
    });
  });
});

describe('deployed stacks', () => {
  const stacks = new Map<string, Record<string, string>>();
  let server: Server;

  /** CloudFormation, as far as DescribeStacks of one stack goes. */
  beforeAll(async () => {
    const cloudFormation = await listen(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { Action, StackName = '' } = Object.fromEntries(new URLSearchParams(body));
      const found = Action === 'DescribeStacks' ? stacks.get(StackName) : undefined;
      const members = Object.entries(found ?? {})
        .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
        .join('');
      const error = `<Error><Code>ValidationError</Code><Message>Stack with id ${StackName} does not exist</Message></Error>`;
      response
        .writeHead(found ? 200 : 400, { 'Content-Type': 'text/xml' })
        .end(
          found
            ? `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${StackName}</StackName><Outputs>${members}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
            : `<ErrorResponse>${error}</ErrorResponse>`,
        );
    });
    server = cloudFormation.server;
    vi.stubEnv('AWS_ENDPOINT_URL_CLOUDFORMATION', cloudFormation.url);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAEXAMPLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await close(server);
  });
  beforeEach(() => {
    const { ProxyUrl, DataOutUrl = '', ...others } = exampleConnection.outputs;
    const storage = others as Record<string, string>;
    stacks.clear();
    stacks.set('DataOutStorage', storage);
    stacks.set('DataOutService', { ProxyUrl, DataOutUrl });
    stacks.set('DataOutStorage-test', storage);
    stacks.set('DataOutService-test', { ProxyUrl, DataOutUrl });
  });

  test.each([
    [{}, 'stacks DataOutStorage and DataOutService in eu-north-1'],
    [{ stage: 'test' }, 'stacks DataOutStorage-test and DataOutService-test in eu-north-1'],
  ])('%j are found by their names', async (options, description) => {
    const target = await connect({ aws: true, region: 'eu-north-1', ...options });
    expect(target).toMatchObject({ description, connection: undefined });
    // The setting comes from the stack.
    expect(['EGAD00000000001', 'my-dataset'].map((id) => target.identifiers.dataset.test(id))).toEqual([true, false]);
    expect(['EGAF00000000001', 'EGAF000000000012'].map((id) => target.identifiers.file.test(id))).toEqual([
      true,
      false,
    ]);
  });

  test('of a release without a login for the audit trail are worked on as their owner', async () => {
    const { DatabaseAuditorSecretArn: _, ...former } = stacks.get('DataOutStorage') ?? {};
    stacks.set('DataOutStorage', former);
    await expect(connect({ aws: true, region: 'eu-north-1' })).resolves.toMatchObject({ connection: undefined });
  });

  test('that lack an output are not worked on', async () => {
    stacks.set('DataOutService', {});
    await expect(connect({ aws: true, region: 'eu-north-1' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'DataOutStorage and DataOutService have no output ProxyUrl: deploy them with this version',
    });
  });
});
