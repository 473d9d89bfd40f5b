import { hash } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { hashPassword, parseScryptHash } from '../../../../lib/common/password-hash.ts';
import { verifyPassword } from '../../../../lib/service/http/passwords.ts';

/** RFC 7914 § 12: scrypt("pleaseletmein", "SodiumChloride", N = 16384, r = 8, p = 1, 64 bytes) */
const rfc7914 = {
  salt: Buffer.from('SodiumChloride'),
  hash: Buffer.from(
    '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
    'hex',
  ),
};
const phc = (parameters: string, salt = rfc7914.salt, hash = rfc7914.hash) =>
  `$scrypt$${parameters}$${salt.toString('base64').replace(/=+$/, '')}$${hash.toString('base64').replace(/=+$/, '')}`;

describe('scrypt in PHC form', () => {
  test('the vector of RFC 7914 fits', async () => {
    expect(await verifyPassword('pleaseletmein', phc('ln=14,r=8,p=1'))).toBe(true);
    expect(await verifyPassword('pleaseletmeiN', phc('ln=14,r=8,p=1'))).toBe(false);
    expect(await verifyPassword('', phc('ln=14,r=8,p=1'))).toBe(false);
    expect(await verifyPassword('pleaseletmein', phc('ln=13,r=8,p=1'))).toBe(false);
  });

  test('the commonly advised cost is within the bounds', () => {
    expect(parseScryptHash(phc('ln=17,r=8,p=1'))).toMatchObject({ ln: 17, r: 8, p: 1 });
  });

  test('a new hash fits its password only, has its own salt, and the documented cost', async () => {
    const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
    expect(one).toMatch(/^\$scrypt\$ln=15,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(two);
    expect(await verifyPassword('correct horse', one)).toBe(true);
    expect(await verifyPassword('Correct horse', one)).toBe(false);
  });

  test.each([
    ['more memory than a function has', 'ln=18,r=8,p=1'],
    ['more memory through r', 'ln=15,r=33,p=1'],
    ['more work than a request may cost', 'ln=15,r=8,p=999'],
    ['no rounds', 'ln=0,r=8,p=1'],
    ['no blocks', 'ln=14,r=0,p=1'],
    ['no lanes', 'ln=14,r=8,p=0'],
    ['parameters out of order', 'r=8,ln=14,p=1'],
  ])('%s is refused before any work', async (_, parameters) => {
    expect(parseScryptHash(phc(parameters))).toBeUndefined();
    await expect(verifyPassword('pleaseletmein', phc(parameters))).rejects.toThrow('cost is out of bounds');
  });
});

describe('bcrypt', () => {
  // Test vectors of the crypt_blowfish package (Openwall), whose $2y$ and $2a$ forms agree for these passwords.
  test.each([
    ['U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
    ['U*U*', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK'],
    ['', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy'],
    ['U*U', '$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ])('the password %j fits %s', async (password, stored) => {
    expect(await verifyPassword(password, stored)).toBe(true);
    expect(await verifyPassword(`${password}x`, stored)).toBe(false);
  });

  // Made with the crypt(3) of libxcrypt: bcrypt takes the first 72 bytes alone, so every longer password would fit as well.
  test.each([
    ['72 letters', 'a'.repeat(72), true],
    ['73 letters', 'a'.repeat(73), false],
    ['72 letters and anything', `${'a'.repeat(72)}, guess`, false],
  ])('%s', async (_, password, fits) => {
    expect(await verifyPassword(password, '$2b$04$CCCCCCCCCCCCCCCCCCCCC.mDyzbhj.9K0apb9O/AGMWwoLXiYAu6u')).toBe(fits);
  });

  test('bytes count, not characters', async () => {
    const password = 'å'.repeat(37);
    expect(await verifyPassword(password, await hash(password, 4))).toBe(false);
    expect(await verifyPassword(password.slice(1), await hash(password.slice(1), 4))).toBe(true);
  });

  test('a cost that would take a minute is refused', async () => {
    await expect(verifyPassword('x', `$2b$20$${'C'.repeat(53)}`)).rejects.toThrow('cost is out of bounds');
  });
});

test.each([['secret'], [''], ['$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaA'], ['$2a$05$short']])(
  'a stored text that is not a known hash (%j) is an error, never compared as plain text',
  async (stored) => {
    await expect(verifyPassword(stored, stored)).rejects.toThrow(/neither scrypt .* nor bcrypt/);
  },
);

test('an unknown user costs the work of a known one', async () => {
  const stored = await hashPassword('x');
  const milliseconds = async (hash: string | undefined) => {
    const start = performance.now();
    expect(await verifyPassword('wrong', hash)).toBe(false);
    return performance.now() - start;
  };
  const least = async (hash: string | undefined) =>
    Math.min(await milliseconds(hash), await milliseconds(hash), await milliseconds(hash));
  // Without a dummy hash the ratio is above a thousand; with it, machine noise.
  expect((await least(stored)) / (await least(undefined))).toBeLessThan(10);
});

test('a password that has fitted is not derived again, and no other one fits by that', async () => {
  const stored = await hashPassword('correct horse');
  const costOf = async (times: number) => {
    const before = process.cpuUsage();
    for (let index = 0; index < times; index += 1) expect(await verifyPassword('correct horse', stored)).toBe(true);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const first = await costOf(1);
  expect(await costOf(50)).toBeLessThan(5 * first);
  expect(await verifyPassword('correct horsE', stored)).toBe(false);
  expect(await verifyPassword('correct horse', await hashPassword('battery staple'))).toBe(false);
});
