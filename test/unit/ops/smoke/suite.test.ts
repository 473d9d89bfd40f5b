import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wholeCredentials } from '../../../../lib/ops/smoke/conformance/credentials.ts';
import { operations, table } from '../../../../lib/ops/smoke/conformance/operations.ts';
import { makeIssuer, readIssuer, visasBy } from '../../../../lib/ops/smoke/issuer.ts';
import { runSmoke } from '../../../../lib/ops/smoke/program.ts';
import { runIds } from '../../../../lib/ops/smoke/run.ts';
import { suite } from '../../../../lib/ops/smoke/suite.ts';
import { newUsers, removeAdministrators, saveUsers } from '../../../../lib/ops/smoke/users.ts';
import { parseTrustedIssuers, verifyVisaOrPassport } from '../../../../lib/visas/index.ts';
import { denied } from '../../../helpers/issuer.ts';
import { makeOpsWorld, makeTerminal } from '../../../helpers/ops-world.ts';
import { readPage } from '../../../helpers/pages.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-smoke-issuer-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the suite', () => {
  test('has rows of operations that docs/openapi describes, and of no other', () => {
    expect(operations.length).toBeGreaterThan(40);
    const named = [...Object.keys(table), ...Object.keys(wholeCredentials)];
    expect(named.filter((id) => !operations.includes(id))).toEqual([]);
  });

  test('has each check once, after those that it needs', () => {
    const ids = suite.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [at, { id, needs = [] }] of suite.entries()) {
      for (const need of needs) expect([id, need, ids.slice(0, at).includes(need)]).toEqual([id, need, true]);
    }
  });

  test('has a remedy for each check, and each check that its page names', () => {
    for (const { remedy } of suite) expect(remedy).toMatch(/\.$/);
    const [, table = ''] =
      /\| check \| what is not known \|\n([\s\S]+?)\n\n/.exec(readPage('docs/smoke-test.md')) ?? [];
    const cells = table.split('\n').map((line) => line.split(' | ')[0] ?? '');
    const named = cells.flatMap((cell) => [...cell.matchAll(/`(.+?)`/g)].map(([, id]) => id));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((id) => !suite.some((check) => check.id === id))).toEqual([]);
  });
});

describe('ids of a run', () => {
  test('begin with SMOKE-, hold the time, and differ', () => {
    const now = new Date('2026-11-22T20:01:02.345Z');
    const [one, other] = [runIds(now), runIds(now)];
    expect(one.datasetId).toMatch(/^SMOKE-20261122T200102Z-[0-9a-f]{8}$/);
    expect(one.username).toBe(one.datasetId.toLowerCase());
    expect(other.datasetId).not.toBe(one.datasetId);
  });
});

describe('the test issuer', () => {
  test('its private key is for its owner alone, and an existing file stays', async () => {
    const file = join(folder, 'issuer.json');
    const entry = await makeIssuer(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(entry)).not.toContain(JSON.parse(await readFile(file, 'utf8')).d);
    const before = await readFile(file, 'utf8');
    await expect(makeIssuer(file)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(file, 'utf8')).toBe(before);
    const now = new Date();
    const options = { issuers: parseTrustedIssuers([entry]), denied, now };
    const sign = visasBy(await readIssuer(file));
    const visa = async (dataset: string) => verifyVisaOrPassport(await sign('x', dataset, now), options);
    expect([...(await visa('SMOKE-1')).datasetIds]).toEqual(['SMOKE-1']);
    expect((await visa('EGAD00000000001')).grants).toEqual([]);
  });

  test('another file is not a key of it', async () => {
    await writeFile(join(folder, 'other'), '{}');
    await expect(readIssuer(join(folder, 'other'))).rejects.toThrow('is not a key of a test issuer');
  });
});

describe('users of a run', () => {
  test('are made beside those that exist, and are all that is removed', async () => {
    const { target, secrets } = await makeOpsWorld();
    const names = ['alice', 'smoke-alarm', 'smoke-20261122t100000z-0123abcd'];
    const people = names.map((username) => ({ username, password: 'hash', roles: ['ADMIN'] }));
    secrets.administrators = { users: people };
    const made = newUsers(runIds(new Date()).username);
    await saveUsers(target, made);
    const { users } = secrets.administrators as { users: { username: string; roles: string[] }[] };
    expect(users.slice(3).map(({ username, roles }) => [username, roles])).toEqual([
      [made.admin.username, ['ADMIN']],
      [made.withoutRole.username, []],
    ]);
    expect(await removeAdministrators(target.administrators)).toEqual([
      names[2],
      made.admin.username,
      made.withoutRole.username,
    ]);
    expect(secrets.administrators).toEqual({ users: people.slice(0, 2) });
  });
});

describe('the command line', () => {
  const settings = { archiveKind: 'fega', deliveryReceipt: true, adminPage: true, needsPassword: true };
  const run = async (...argv: string[]) => {
    const { terminal, said } = makeTerminal({ folder });
    return { exitCode: await runSmoke(argv, terminal, { local: settings, deployed: settings }), ...said };
  };

  test.each([
    [['--connection', 'x', '--stage', 'test'], '--connection: names the local engine: leave --aws out'],
    [['--region', 'eu-north-1'], '--region: is for deployed stacks: add --aws'],
    [['--aws', '--dataset', 'SMOKE-1'], '--visa: goes with --dataset, and --dataset with it'],
    [['--visa', 'x', '--dataset', 'EGAD1'], '--dataset: expected SMOKE- and at most 60 letters, digits and dashes'],
  ])('%j is refused', async (argv, message) => {
    const { exitCode, stderr } = await run(...argv);
    expect([exitCode, stderr]).toEqual([2, `smoke: ${message}\n`]);
  });
});
