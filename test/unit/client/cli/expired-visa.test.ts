import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../helpers/cli-run.ts';
import { unverifiedToken, visaClaims } from '../../../helpers/unverified-token.ts';

/** As in `makeTerminal`: 2026-11-21T10:00:00Z. */
const now = 1_795_255_200;
const replies: Readonly<Record<string, unknown>> = {
  '/v1/files': { files: [] },
  '/v1/export/fega': { requestId: 'request-1' },
};
const sent: string[] = [];
let server: Server;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-expired-'));
  await writeFile(join(folder, 'jane.pub'), formatPublicKey(generateKeyPair().publicKey));
  server = createServer(async (request, response) => {
    sent.push(JSON.stringify(request.headers) + (await text(request)));
    const reply = replies[new URL(request.url ?? '/', 'http://localhost').pathname];
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  env = {
    DATA_OUT_URL: url,
    DATA_OUT_VISA_FILE: join(folder, 'jane.jwt'),
    DATA_OUT_ADMIN_USERNAME: 'admin',
    DATA_OUT_ADMIN_PASSWORD: 'password',
  };
});
beforeEach(() => {
  sent.length = 0;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

async function runWith(argv: readonly string[], exp: number) {
  const visa = unverifiedToken(visaClaims('EGAD1', { exp }));
  await writeFile(join(folder, 'jane.jwt'), visa, { mode: 0o600 });
  const run = await runCli(argv, { folder, env });
  return { ...run, isSent: sent.some((request) => request.includes(visa)) };
}

describe.each([
  ['list', ['list']],
  ['list --quiet', ['list', '--quiet']],
  ['download', ['download', '--all']],
  ['admin export', ['admin', 'export', 'EGAD1', '--visa', 'jane.jwt', '--public-key', 'jane.pub']],
])('%s with a visa', (_, argv) => {
  test('that expires now is warned of once, and sent', async () => {
    const { stderr, isSent } = await runWith(argv, now);
    expect(stderr.match(/warning: .*/g)).toEqual([
      'warning: the visa expired at 2026-11-21T10:00:00.000Z, 0 ms ago by this clock. It is sent anyway, because ' +
        'clocks differ; get a new one if the service refuses it.',
    ]);
    expect(isSent).toBe(true);
  });
});

test('a visa that has expired long ago is sent by a researcher', async () => {
  const { stderr, isSent, exitCode } = await runWith(['list'], now - 86_400);
  expect({ exitCode, isSent }).toEqual({ exitCode: 0, isSent: true });
  expect(stderr).toContain('24 h 00 min ago');
});

test.each([0o640, 0o604])('a visa that others can read is warned of once, as a private key: %i', async (mode) => {
  await runWith(['list'], now + 60);
  await chmod(join(folder, 'jane.jwt'), mode);
  const { stderr, isSent, exitCode } = await runWith(['list'], now + 60);
  await chmod(join(folder, 'jane.jwt'), 0o600);
  expect({ exitCode, isSent }).toEqual({ exitCode: 0, isSent: true });
  expect(stderr.match(/warning: .*/g)).toEqual([
    `warning: other users of this machine can read the visa ${join(folder, 'jane.jwt')}: run chmod 600 on it`,
  ]);
});

// The service would accept the request now, and reject it later without a reply.
test('and no administrator sends it: the service would not report the rejection', async () => {
  const argv = ['admin', 'export', 'EGAD1', '--visa', 'jane.jwt', '--public-key', 'jane.pub'];
  const { stderr, isSent, exitCode } = await runWith(argv, now - 301);
  expect({ exitCode, isSent }).toEqual({ exitCode: 2, isSent: false });
  expect(stderr).toContain('expired at 2026-11-21T09:54:59.000Z');
});
