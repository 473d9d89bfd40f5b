import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wholeCredentials } from '../../../../lib/ops/smoke/conformance/credentials.ts';
import { operations, table } from '../../../../lib/ops/smoke/conformance/operations.ts';
import { runIds } from '../../../../lib/ops/smoke/run.ts';
import { suite } from '../../../../lib/ops/smoke/suite.ts';
import { newUsers, removeAdministrators, saveUsers } from '../../../../lib/ops/smoke/users.ts';
import { makeOpsWorld } from '../../../helpers/ops-world.ts';
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
    const begins = [...readPage('docs/smoke-test.md').matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, begin = '']) => begin);
    const named = begins.flatMap((begin) => [...begin.matchAll(/`(.+?)`/g)].map(([, id]) => id));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((id) => !suite.some((check) => check.id === id))).toEqual([]);
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
