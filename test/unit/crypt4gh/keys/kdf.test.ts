import { expect, test, vi } from 'vitest';
import { deriveKey } from '../../../../lib/crypt4gh/keys/kdf.ts';
import { passphrase } from './passphrase-vectors.ts';

/** What the key derivations were given as a passphrase, in the memory it was in, and what stood there then. */
const given = vi.hoisted(() => [] as { readonly memory: unknown; readonly text: string }[]);

function seen(memory: unknown): void {
  given.push({ memory, text: Buffer.from(memory as Uint8Array).toString('utf8') });
}

vi.mock(import('node:crypto'), async (original) => {
  const crypto = await original();
  return {
    ...crypto,
    scrypt: ((...all: Parameters<typeof crypto.scrypt>) => {
      seen(all[0]);
      crypto.scrypt(...all);
    }) as typeof crypto.scrypt,
    pbkdf2: (...all: Parameters<typeof crypto.pbkdf2>) => {
      seen(all[0]);
      crypto.pbkdf2(...all);
    },
  };
});
vi.mock(import('bcrypt-pbkdf'), async (original) => {
  const { pbkdf } = await original();
  return {
    pbkdf: (...all: Parameters<typeof pbkdf>) => {
      seen(all[0]);
      return pbkdf(...all);
    },
  };
});

test.each(['scrypt', 'bcrypt', 'pbkdf2_hmac_sha256'] as const)(
  '%s works on a copy of the passphrase, which is wiped',
  async (kdf) => {
    const bytes = new TextEncoder().encode(passphrase);
    for (const secret of [passphrase, bytes]) {
      await deriveKey(secret, { kdf, rounds: 1, salt: Buffer.from('salt') }, 32);
      const { memory, text } = given.pop()!;
      expect(text).toBe(passphrase);
      expect(memory).toEqual(Buffer.alloc(bytes.length));
    }
    expect(Buffer.from(bytes).toString('utf8')).toBe(passphrase);
  },
);
