import { hash } from 'bcryptjs';
import { beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import { type Administrators, authenticateAdministrator } from '../../../../lib/service/http/administrator.ts';
import { basic } from '../../../helpers/http-request.ts';

const users = new Map<string, Awaited<ReturnType<Administrators['find']>>>();
const administrators: Administrators = { find: async (username) => users.get(username) };

beforeAll(async () => {
  const passwordHash = await hash('correct:horse', 4);
  users.set('admin', { passwordHash, roles: ['ADMIN'] });
  users.set('reader', { passwordHash, roles: ['READER', 'admin'] });
  users.set('guest', { passwordHash, roles: [] });
  users.set('broken', { passwordHash: 'correct:horse', roles: ['ADMIN'] });
});

test('HTTP Basic with the role ADMIN opens the export endpoint', async () => {
  expect(await authenticateAdministrator([basic('admin', 'correct:horse')], administrators)).toEqual({
    username: 'admin',
    isAdministrator: true,
  });
});

test.each([['reader'], ['guest']])(
  'a known user without the role (%s) is known, and no administrator',
  async (name) => {
    expect(await authenticateAdministrator([basic(name, 'correct:horse')], administrators)).toEqual({
      username: name,
      isAdministrator: false,
    });
  },
);

test.each([
  ['no header', []],
  ['a wrong password', [basic('admin', 'wrong')]],
  ['the hash itself', [basic('admin', '$scrypt$ln=15,r=8,p=1$')]],
  ['an unknown user', [basic('root', 'correct:horse')]],
  ['a wrong password without the role', [basic('reader', 'wrong')]],
])('refused: %s', async (_, authorization) => {
  await expect(authenticateAdministrator(authorization, administrators)).rejects.toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
});

test('a store that fails is not a wrong password', async () => {
  const failing: Administrators = {
    find: () => Promise.reject(unavailable('Secrets Manager')),
  };
  await expect(authenticateAdministrator([basic('admin', 'x')], failing)).rejects.toThrow(
    expect.objectContaining({ code: 'temporarily_unavailable' }),
  );
});

test('a password that was stored as plain text opens nothing', async () => {
  const attempt = authenticateAdministrator([basic('broken', 'correct:horse')], administrators);
  await expect(attempt).rejects.toThrow('neither scrypt');
  await expect(attempt).rejects.not.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
});
