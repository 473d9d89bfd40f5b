import { describe, expect, test } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { authorizeOutboxCaller, visaToken } from '../../../../lib/service/outbox/caller.ts';
import { basic, httpRequest } from '../../../helpers/http-request.ts';
import { accessWorld, archiveUser } from '../../../helpers/recipient-access.ts';

describe('the visa of a list or stream request', () => {
  test.each([
    [{ 'Proxy-Authorization': 'Bearer a.b.c' }],
    [{ 'proxy-authorization': 'bearer a.b.c' }],
    [{ 'X-GA4GH-Visa': 'a.b.c' }],
    [{ 'X-GA4GH-Visa': ' a.b.c ' }],
    [{ 'Proxy-Authorization': 'Bearer a.b.c', 'X-GA4GH-Visa': 'a.b.c' }],
    [{ 'Proxy-Authorization': '', 'X-GA4GH-Visa': 'a.b.c' }],
  ])('%j carries it', (headers) => {
    expect(visaToken(httpRequest({ headers }))).toBe('a.b.c');
  });

  test.each([
    [{ 'Proxy-Authorization': 'Bearer a.b.c', 'X-GA4GH-Visa': 'a.b.d' }],
    [{ 'Proxy-Authorization': ['Bearer a.b.c', 'Bearer a.b.c'] }],
    [{ 'X-GA4GH-Visa': ['a.b.c', 'a.b.d'] }],
  ])('%j is ambiguous', (headers) => {
    expect(() => visaToken(httpRequest({ headers }))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('the authorizer', () => {
  const { username, password } = archiveUser;

  test('names the subject of the visa, and the archive user if there is one', async () => {
    const { access, headers, subject } = await accessWorld();
    const principalId = outboxPrefix(subject('ana'));
    const visa = await headers({ sub: 'ana' });
    const admit = (more: object) => authorizeOutboxCaller(httpRequest({ headers: { ...visa, ...more } }), access);
    expect(await admit({ Authorization: basic(username, password) })).toEqual({ principalId, archiveUser: username });
    expect(await admit({})).toEqual({ principalId, archiveUser: undefined });
  });

  test('refuses a visa before it looks a user up', async () => {
    const { access, headers } = await accessWorld();
    const request = httpRequest({ headers: await headers({ exp: 1000 }) });
    const refused = authorizeOutboxCaller(request, {
      ...access,
      checkArchiveCredentials: () => Promise.reject(new Error('asked')),
    });
    await expect(refused).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});
