import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeTestIssuer, type TestIssuer } from '../../helpers/issuer.ts';
import { makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

const iss = 'https://issuer.example.org';
/** The tool's clock stands at 2026-11-21T10:00:00Z. */
const now = Date.UTC(2026, 10, 21, 10) / 1000;

let issuer: TestIssuer;
let folder: string;
beforeAll(async () => {
  issuer = await makeTestIssuer({ iss });
  folder = await mkdtemp(join(tmpdir(), 'data-out-denial-'));
});
afterAll(() => rm(folder, { recursive: true }));

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
});
const run = (...argv: string[]) => runTool(['visa', ...argv], world.target, { folder });

describe('visa deny', () => {
  test('puts a token or a subject on the list, each once', async () => {
    for (const entry of [
      ['--jti', 'v1'],
      ['--subject', 'ana'],
      ['--jti', 'v1'],
    ]) {
      const { exitCode, stderr } = await run('deny', '--issuer', iss, ...entry);
      expect(exitCode).toBe(0);
      expect(stderr).toContain('within a minute');
    }
    expect(world.secrets.visaDenyList).toEqual({
      denied: [
        { iss, sub: 'ana' },
        { iss, jti: 'v1' },
      ],
    });
  });

  test('takes what it needs from the file of a visa, and keeps it for 30 days after that has expired', async () => {
    const exp = now + 3600;
    await writeFile(join(folder, 'visa.jwt'), `${await issuer.visa({ exp, claims: { jti: 'v1' } })}\n`);
    const { exitCode, stdout } = await run('deny', 'visa.jwt', '--json');
    expect(exitCode).toBe(0);
    // Staging a file looks at this list alone, and a message of a file may wait for 14 days.
    expect(JSON.parse(stdout)).toEqual({ iss, jti: 'v1', until: '2026-12-21T11:00:00.000Z' });
    expect(world.secrets.visaDenyList).toEqual({ denied: [{ iss, jti: 'v1', until: '2026-12-21T11:00:00.000Z' }] });
  });

  test('of a passport denies every visa in it, because each is good alone', async () => {
    const visas = [await issuer.visa({ claims: { jti: 'v1' } }), await issuer.visa({ claims: { jti: 'v2' } })];
    await writeFile(join(folder, 'passport.jwt'), await issuer.passport(visas, { claims: { jti: 'p1' } }));
    expect((await run('deny', 'passport.jwt')).exitCode).toBe(0);
    expect(world.secrets.visaDenyList).toMatchObject({ denied: [{ jti: 'p1' }, { jti: 'v1' }, { jti: 'v2' }] });
  });

  test('of a token without an id puts a hash on the list, which allow takes off again', async () => {
    const token = await issuer.visa({ sub: 'ana', exp: now + 3600 });
    await writeFile(join(folder, 'nameless.jwt'), token);
    const sha256 = createHash('sha256')
      .update(token.slice(0, token.lastIndexOf('.')))
      .digest('hex');
    const { exitCode, stdout } = await run('deny', 'nameless.jwt');
    expect([exitCode, stdout]).toEqual([0, `denied: token ${sha256} of ${iss}\n`]);
    expect(world.secrets.visaDenyList).toEqual({ denied: [{ iss, sha256, until: '2026-12-21T11:00:00.000Z' }] });
    expect((await run('denied')).stdout).toMatch(new RegExp(`^token +${sha256} +${iss} +2026-12-21`, 'm'));
    expect((await run('allow', '--issuer', iss, '--sha256', sha256)).exitCode).toBe(0);
    expect((await run('deny', '--issuer', iss, '--sha256', sha256)).exitCode).toBe(0);
    expect(world.secrets.visaDenyList).toEqual({ denied: [{ iss, sha256 }] });
  });

  test.each<[string, (token: string) => string | Uint8Array]>([
    ['in quotes, with line breaks', (token) => `"${token.slice(0, 70)}\r\n${token.slice(70)}"\n`],
    ['behind Bearer', (token) => `Bearer ${token}\n`],
    ['as a sign-in service gives it', (token) => JSON.stringify({ ga4gh_passport_v1: [token] })],
    ['in UTF-16', (token) => Buffer.from(`\ufeff${token}`, 'utf16le')],
  ])('of a token %s puts the same hash on the list', async (_, written) => {
    const token = await issuer.visa({ sub: 'ana' });
    const sha256 = createHash('sha256')
      .update(token.slice(0, token.lastIndexOf('.')))
      .digest('hex');
    await writeFile(join(folder, 'mailed.jwt'), written(token));
    expect((await run('deny', 'mailed.jwt')).exitCode).toBe(0);
    expect(world.secrets.visaDenyList).toMatchObject({ denied: [{ iss, sha256 }] });
  });

  test.each([
    ['a hash in capitals', ['--sha256', 'AB'.repeat(32)], '--sha256 with 64 digits'],
    ['a subject and a hash', ['--subject', 'ana', '--sha256', 'ab'.repeat(32)], 'expected one of --jti'],
    ['an id and a subject', ['--jti', 'v1', '--subject', 'ana'], 'expected one of --jti'],
  ])('refuses %s', async (_, options, expected) => {
    const { exitCode, stderr } = await run('deny', '--issuer', iss, ...options);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(expected)]);
    expect(world.calls).toEqual([]);
  });

  test('of a text that is not a token never repeats it', async () => {
    await writeFile(join(folder, 'other.jwt'), 'private text');
    const { exitCode, stderr } = await run('deny', 'other.jwt');
    expect([exitCode, stderr]).toEqual([2, expect.not.stringContaining('private')]);
    expect(world.calls).toEqual([]);
  });

  test('a time that no calendar has is left out: the list must stay readable', async () => {
    const exp = 8_640_000_000_000;
    await writeFile(join(folder, 'eternal.jwt'), await issuer.visa({ exp, claims: { jti: 'v1' } }));
    await run('deny', 'eternal.jwt');
    expect(world.secrets.visaDenyList).toEqual({ denied: [{ iss, jti: 'v1' }] });
  });

  test('drops tokens whose time is over, and nothing else', async () => {
    const lasting = [
      { iss, jti: 'next', until: '2026-11-21T10:00:00.001Z' },
      { iss, jti: 'always' },
      { iss, sub: 'ana' },
    ];
    world.secrets.visaDenyList = { denied: [{ iss, jti: 'over', until: '2026-11-21T09:59:59.999Z' }, ...lasting] };
    await run('deny', '--issuer', iss, '--jti', 'v1');
    expect(world.secrets.visaDenyList).toEqual({ denied: [...lasting, { iss, jti: 'v1' }] });
  });

  test('refuses what a secret cannot hold, and leaves the list as it is', async () => {
    const full = { denied: [{ iss, jti: 'x'.repeat(65_000) }] };
    world.secrets.visaDenyList = full;
    const { exitCode, stderr } = await run('deny', '--issuer', iss, '--jti', 'y'.repeat(500));
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/would have \d+ bytes, a secret holds 65536/);
    expect(world.secrets.visaDenyList).toBe(full);
    expect((await run('deny', '--issuer', iss, '--jti', 'y'.repeat(300))).exitCode).toBe(0);
  });

  test('a list of another form is not written over', async () => {
    world.secrets.visaDenyList = { denied: [{ iss, subject: 'ana' }] };
    const { exitCode, stderr } = await run('deny', '--issuer', iss, '--jti', 'v1');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the deny list is not of the form');
    expect(world.calls).toEqual(['read visaDenyList']);
  });
});

test('visa allow takes an entry off the list, and says when there is none', async () => {
  const other = { iss: 'https://other.example.org', jti: 'v1' };
  world.secrets.visaDenyList = { denied: [{ iss, jti: 'v1', until: '2099-01-01T00:00:00Z' }, other] };
  expect((await run('allow', '--issuer', iss, '--jti', 'v1')).exitCode).toBe(0);
  expect(world.secrets.visaDenyList).toEqual({ denied: [other] });
  const { exitCode, stderr } = await run('allow', '--issuer', iss, '--jti', 'v1');
  expect(exitCode).toBe(4);
  expect(stderr).toContain(`the deny list has no token v1 of ${iss}`);
});

test('visa denied lists what is denied', async () => {
  expect((await run('denied')).stderr).toContain('nothing is denied');
  world.secrets.visaDenyList = {
    denied: [
      { iss, sub: 'ana\u001b[2J' },
      { iss, jti: 'v1', until: '2099-01-01T00:00:00Z' },
    ],
  };
  const { stdout } = await run('denied');
  const cells = stdout.split('\n').map((line) => line.split(/\s{2,}/));
  expect(cells[0]).toEqual(['DENIED', 'ID', 'ISSUER', 'KEPT UNTIL']);
  expect(cells[2]).toEqual(['token', 'v1', iss, '2099-01-01T00:00:00Z']);
  expect(stdout).not.toContain('\u001b');
  expect((await run('denied', '--json')).stdout.split('\n')[1]).toBe(
    JSON.stringify({ iss, jti: 'v1', until: '2099-01-01T00:00:00Z' }),
  );
});
