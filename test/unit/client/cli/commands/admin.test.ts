import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { shownExport } from '../../../../helpers/export-states.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

const { requestId } = shownExport();
const one = `/v1/export/fega/${requestId}`;
let server: Server;
let folder: string;
let env: Record<string, string>;
/** Replies by path, the query left out. */
let replies: Record<string, unknown>;
/** Takes the place of the answer to a POST. */
let loses: ((response: ServerResponse) => void) | undefined;
/** Method, path and query of the calls. */
const calls: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-exports-'));
  await writeFile(join(folder, 'jane.pub'), formatPublicKey(generateKeyPair().publicKey));
  await writeFile(join(folder, 'jane.jwt'), unverifiedToken(visaClaims('EGAD1', { exp: 1_795_262_400 })));
  server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    expect(request.headers.authorization).toBe(`Basic ${btoa('admin:password')}`);
    if (loses && request.method === 'POST') return loses(response);
    const reply = replies[new URL(request.url ?? '/', 'http://localhost').pathname];
    const body = reply ?? {
      code: 'not_found',
      status: 404,
      detail: 'There is no such request.',
      requestId: 'gateway-1',
    };
    const type = reply === undefined ? 'application/problem+json' : 'application/json';
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': type });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  env = {
    DATA_OUT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`,
    DATA_OUT_ADMIN_USERNAME: 'admin',
    DATA_OUT_ADMIN_PASSWORD: 'password',
  };
});
beforeEach(() => {
  calls.length = 0;
  loses = undefined;
  replies = { '/v1/export/fega': { requestId, exports: [], page: 0 } };
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

async function run(...argv: string[]) {
  const { stdout, ...rest } = await runCli(argv, { folder, env });
  return { ...rest, stdout: stdout.toString() };
}
const exportOne = (...more: string[]) =>
  run('admin', 'export', 'EGAD1', '--visa', 'jane.jwt', '--public-key', 'jane.pub', ...more);

describe('admin export', () => {
  test.each([
    ['complete', 0],
    ['rejected', 3],
    ['withdrawn', 3],
    ['incomplete', 5],
  ])('--wait ends with the state %s and the exit code %i', async (state, code) => {
    replies[one] = { ...shownExport({ state }, { staged: 2 }), files: [], page: 0 };
    const { stdout, stderr, exitCode } = await exportOne('--wait');
    expect(stdout.split('\n').slice(1)).toEqual([`EGAD1: ${state}: 2 of 2 files staged`, '']);
    expect(exitCode).toBe(code);
    // The end of the export is not an end of the waiting.
    expect(stderr).not.toContain('continues');
  });

  test('Ctrl-C while it waits leaves the export running, and says so', async () => {
    const controller = new AbortController();
    replies[one] = { ...shownExport(), files: [], page: 0 };
    const argv = ['admin', 'export', 'EGAD1', '--visa', 'jane.jwt', '--public-key', 'jane.pub', '--wait'];
    let said = '';
    const { exitCode } = await runCli(argv, {
      folder,
      env,
      signal: controller.signal,
      report: (text) => {
        said += text;
        // The first state is shown just before the pause.
        if (text.startsWith('staging')) setImmediate(() => controller.abort());
      },
    });
    expect(exitCode).toBe(130);
    expect(said).toContain(`stopped waiting; the export continues: data-out admin show ${requestId}`);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['the connection is cut', (response) => response.socket?.destroy()],
    [
      'the answer is cut',
      (response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
    ],
    ['a gateway does not know', (response) => response.writeHead(504).end()],
  ])('is sent once: when %s, it may have been taken', async (_, answer) => {
    loses = answer;
    const { stdout, stderr, exitCode } = await exportOne();
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 7 });
    expect(stderr).toMatch(
      /\. It may have been taken\ndata-out admin list --kind fega shows whether it was\. Only if not, send it again\.\n$/,
    );
    expect(calls).toEqual(['POST /v1/export/fega']);
  });

  test('of a batch says what happened to each row, and sends again what was rejected', async () => {
    const rows = 'EGAD1,jane.jwt,jane.pub\nEGAD1,jane.jwt,jane.pub\n';
    await writeFile(join(folder, 'rows.csv'), `id,visa,public_key\n${rows}`);
    const batch = (...more: string[]) => run('admin', 'export', '--batch', 'rows.csv', ...more);
    expect(await batch('--dry-run')).toEqual({
      exitCode: 0,
      stdout: 'line 2: EGAD1: would be sent\nline 3: EGAD1: same as line 2\n',
      stderr: '1 same as another row, 1 would be sent; nothing was sent\n',
    });
    expect(await batch()).toEqual({
      exitCode: 0,
      stdout: `line 2: EGAD1: queued, request ${requestId}\nline 3: EGAD1: same as line 2\n`,
      stderr: '1 queued, 1 same as another row; what is queued is not approved yet\n',
    });
    replies[one] = { ...shownExport({ state: 'rejected', reason: 'not_released' }), files: [], page: 0 };
    const why = `: the export ${requestId} is rejected (not_released)\n`;
    expect((await batch('--dry-run')).stdout).toContain(`line 2: EGAD1: would be sent again${why}`);
    expect((await batch()).stdout).toContain(`line 2: EGAD1: queued again, request ${requestId}${why}`);
    expect(calls.filter((call) => call.startsWith('POST'))).toHaveLength(2);
  });
});

describe('admin list', () => {
  const row = (more = {}) => ({
    ...shownExport(more),
    counts: { total: 3, staged: 1, pending: 2 },
    bytes: 2048,
  });

  test('passes state, time, page and kind on, and says when there may be more', async () => {
    replies['/v1/export/gdi'] = { exports: Array(100).fill(row()), page: 1 };
    const argv = ['--state', 'withdrawn', '--since', '2026-11-22T08:00+01:00', '--page', '2', '--kind', 'gdi'];
    const { stderr } = await run('admin', 'list', ...argv);
    expect(calls).toEqual(['GET /v1/export/gdi?page=1&state=withdrawn&since=2026-11-22T07%3A00%3A00.000Z']);
    expect(stderr).toBe('100 exports; --page 3 may have more\n');
  });
});

describe('admin show', () => {
  const shown = shownExport(
    { state: 'incomplete', settledAt: '2026-11-21T10:09:00.000Z', generation: 2, receipt: 'EGAD1-x.delivery.jws' },
    { staged: 1000, given_up: 1 },
  );

  test('says what is known', async () => {
    replies[one] = { ...shown, files: [], page: 0 };
    const { stdout, exitCode } = await run('admin', 'show', requestId);
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')).toEqual([
      `request     ${requestId}`,
      'state       incomplete: 1000 of 1001 files staged, 1 given up',
      'dataset     EGAD1',
      'staged      1000 files, 9.8 KiB',
      'recipient   aa',
      'key         SHA-256 bb',
      'requested   2026-11-21T10:00:00.000Z',
      'settled     2026-11-21T10:09:00.000Z, generation 2',
      'receipt     EGAD1-x.delivery.jws',
      '',
    ]);
  });

  test('of a part of an id asks for the whole one, and calls nobody', async () => {
    const { stderr, exitCode } = await run('admin', 'show', requestId.slice(0, 8));
    expect([exitCode, calls]).toEqual([2, []]);
    expect(stderr).toContain('expected the whole id of a request\ndata-out admin list shows the ids.');
  });

  test('of an unknown request says in what case it is worth asking again', async () => {
    const { stderr, exitCode } = await run('admin', 'show', requestId);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('There is no such request.');
    expect(stderr).toContain('If the request is only seconds old, ask again.');
  });
});
