import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { GlobalOptions } from '../../../lib/ops/session.ts';
import { connectTarget } from '../../../lib/ops/target.ts';
import { exampleConnection, makeTerminal } from '../../helpers/ops-world.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-target-'));
});

async function connectionFile(name: string, proxyUrl: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, JSON.stringify({ ...exampleConnection, proxyUrl }));
  return file;
}

const connect = (options: Partial<GlobalOptions>, env = {}) =>
  connectTarget({ stackPrefix: 'DataOut', ...options }, makeTerminal({ folder, env }).terminal);

describe('the local engine', () => {
  test('is found by the option, then by the variable, then in the folder', async () => {
    await connectionFile('.local/connection.json', 'http://127.0.0.1:1/folder');
    const byVariable = await connectionFile('variable.json', 'http://127.0.0.1:2/variable');
    await connectionFile('option.json', 'http://127.0.0.1:3/option');
    const env = { DATA_OUT_CONNECTION: byVariable };
    expect((await connect({ connection: 'option.json' }, env)).description).toBe(
      'local engine http://127.0.0.1:3/option',
    );
    expect((await connect({}, env)).description).toBe('local engine http://127.0.0.1:2/variable');
    expect((await connect({})).description).toBe('local engine http://127.0.0.1:1/folder');
  });

  test('a named file that is missing is not replaced by another', async () => {
    await connectionFile('.local/connection.json', 'http://127.0.0.1:1/folder');
    await expect(connect({ connection: 'gone.json' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(connect({}, { DATA_OUT_CONNECTION: 'gone.json' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('without a file and without --aws nothing is guessed', async () => {
    await expect(connect({})).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/npm start.*--aws/),
    });
  });

  test.each(['{}', 'not JSON', '{"proxyUrl":"http://127.0.0.1"}'])('%j is no connection file', async (text) => {
    await writeFile(join(folder, 'odd.json'), text);
    await expect(connect({ connection: 'odd.json' })).rejects.toMatchObject({ code: 'unusable_input' });
  });
});

describe('options of the other kind of target are refused, not ignored', () => {
  test.each([
    [{ stage: 'test' }, '--stage'],
    [{ region: 'eu-north-1' }, '--region'],
    [{ aws: true, connection: 'x.json' }, '--connection'],
  ])('%j', async (options, field) => {
    await expect(connect(options)).rejects.toMatchObject({ violations: [{ field, message: expect.any(String) }] });
  });
});

describe('deployed stacks', () => {
  const stacks = new Map<string, Record<string, string>>();
  let server: Server;

  /** CloudFormation, as far as DescribeStacks of one stack goes. */
  beforeAll(async () => {
    server = createServer(async (request, response) => {
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
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    vi.stubEnv('AWS_ENDPOINT_URL_CLOUDFORMATION', url);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAEXAMPLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    const { ProxyUrl, DataOutUrl, ...storage } = exampleConnection.outputs;
    stacks.clear();
    stacks.set('DataOutStorage', storage);
    stacks.set('DataOutService', { ProxyUrl, DataOutUrl });
    stacks.set('OtherStorage-test', storage);
    stacks.set('OtherService-test', { ProxyUrl, DataOutUrl });
  });

  test.each([
    [{}, 'stacks DataOutStorage and DataOutService in eu-north-1'],
    [{ stackPrefix: 'Other', stage: 'test' }, 'stacks OtherStorage-test and OtherService-test in eu-north-1'],
  ])('%j are found by their names', async (options, description) => {
    const target = await connect({ aws: true, region: 'eu-north-1', ...options });
    expect(target).toMatchObject({ description, connection: undefined });
  });

  test('that are not there are named', async () => {
    await expect(connect({ aws: true, region: 'eu-north-1', stage: 'prod' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('DataOutStorage-prod'),
    });
  });

  test('that lack an output are not worked on', async () => {
    stacks.set('DataOutService', {});
    await expect(connect({ aws: true, region: 'eu-north-1' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('ProxyUrl'),
    });
  });
});
