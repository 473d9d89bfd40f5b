import { expect, test, vi } from 'vitest';
import { deriveKey } from '../../../../lib/crypt4gh/keys/kdf.ts';
import { passphrase } from './passphrase-vectors.ts';

test.each(['scrypt', 'bcrypt', 'pbkdf2_hmac_sha256'] as const)(
  '%s works on a copy of the passphrase, which is wiped',
  async (kdf) => {
    const bytes = new TextEncoder().encode(passphrase);
    for (const secret of [passphrase, bytes]) {
      const from = vi.spyOn(Buffer, 'from');
      const derived = deriveKey(secret, { kdf, rounds: 1, salt: Buffer.from('salt') }, 32);
      const given: readonly unknown[][] = from.mock.calls;
      const copies = from.mock.results.filter((_, call) => given[call]?.[0] === secret).map(({ value }) => value);
      from.mockRestore();
      expect(copies.map(String)).toEqual([passphrase]);
      await derived;
      expect(copies).toEqual([Buffer.alloc(bytes.length)]);
    }
    expect(Buffer.from(bytes).toString('utf8')).toBe(passphrase);
  },
);
