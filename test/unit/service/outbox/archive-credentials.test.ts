import { hash } from 'bcryptjs';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ArchiveCredentialsPolicy } from '../../../../lib/contract/environment.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { archiveCredentials } from '../../../../lib/service/outbox/archive-credentials.ts';
import type { ArchiveUser, ArchiveUsers } from '../../../../lib/service/outbox/ports.ts';
import { basic, httpRequest } from '../../../helpers/http-request.ts';

class Users implements ArchiveUsers {
  readonly rows = new Map<string, ArchiveUser>();
  lookups = 0;
  async find(username: string): Promise<ArchiveUser | undefined> {
    this.lookups += 1;
    return this.rows.get(username);
  }
}

let passwordHash: string;
let users: Users;
let now: Date;

beforeAll(async () => {
  passwordHash = await hash('correct:horse', 4);
});

beforeEach(() => {
  now = new Date('2026-11-21T10:00:00Z');
  users = new Users();
  users.rows.set('archive', { username: 'archive', passwordHash });
});

function checker(policy: ArchiveCredentialsPolicy, store: ArchiveUsers = users) {
  const check = archiveCredentials(store, policy, () => now);
  return (authorization?: string | string[]) =>
    check(httpRequest({ headers: authorization === undefined ? {} : { Authorization: authorization } }));
}

describe.each(['required', 'when-presented'] as const)('policy %s', (policy) => {
  test('right credentials pass, and name the user', async () => {
    await expect(checker(policy)(basic('archive', 'correct:horse'))).resolves.toBe('archive');
  });

  test.each([
    ['wrong password', basic('archive', 'wrong')],
    ['unknown user', basic('stranger', 'correct:horse')],
    ['malformed', 'Basic ?'],
    ['empty', ''],
    ['another scheme', 'Bearer a.b.c'],
  ])('%s: 401', async (_, value) => {
    await expect(checker(policy)(value)).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  });

  test('two headers: 400', async () => {
    const value = basic('archive', 'correct:horse');
    await expect(checker(policy)([value, value])).rejects.toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  test('a database that resumes is a 503, not a 401', async () => {
    const resuming: ArchiveUsers = { find: () => Promise.reject(unavailable('resuming')) };
    await expect(checker(policy, resuming)(basic('archive', 'x'))).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
  });
});

test('without credentials the policy alone decides', async () => {
  await expect(checker('required')()).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  await expect(checker('when-presented')()).resolves.toBeUndefined();
  expect(users.lookups).toBe(0);
});

test('credentials that were right are believed for a minute, then looked up again', async () => {
  const check = checker('required');
  const value = basic('archive', 'correct:horse');
  await check(value);
  users.rows.clear();
  now = new Date('2026-11-21T10:00:59.999Z');
  expect(await check(value)).toBe('archive');
  expect(users.lookups).toBe(1);
  now = new Date('2026-11-21T10:01:00Z');
  await expect(check(value)).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
});

test('wrong credentials are never remembered as right, nor right ones as wrong', async () => {
  const check = checker('required');
  await expect(check(basic('archive', 'wrong'))).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  await check(basic('archive', 'correct:horse'));
  await expect(check(basic('archive', 'wrong'))).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  await expect(check(basic('archive', 'correct'))).rejects.toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
  await expect(check(basic('archiv', 'e:correct:horse'))).rejects.toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
});
