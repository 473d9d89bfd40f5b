import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { scramVerifier } from '../../../../../lib/service/stores/rds/database-role.ts';

describe('a SCRAM-SHA-256 verifier', () => {
  it('accepts the client and signs for the server in the exchange of RFC 7677 § 3', () => {
    const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64');
    const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
    const exchange = `n=user,r=rOprNGfwEbeRWgbNEkqO,r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=${nonce}`;
    const proof = Buffer.from('dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=', 'base64');

    const verifier = scramVerifier('pencil', salt, 4096);
    const [, stored = '', server = ''] =
      /^SCRAM-SHA-256\$4096:W22ZaJ0SNY7soEsUEjb6gQ==\$([^:]+):([^:]+)$/.exec(verifier) ?? [];
    const signed = (key: string) => createHmac('sha256', Buffer.from(key, 'base64')).update(exchange).digest();
    expect(signed(server).toString('base64')).toBe('6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=');
    const signature = signed(stored);
    const clientKey = proof.map((byte, at) => byte ^ (signature[at] ?? 0));
    expect(createHash('sha256').update(clientKey).digest('base64')).toBe(stored);
  });

  it('has its own salt', () => {
    expect(scramVerifier('pencil')).not.toBe(scramVerifier('pencil'));
    const form = /^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=$/;
    expect(scramVerifier('pencil')).toMatch(form);
  });

  it.each(['', 'naïve', 'tab\t', 'line\n'])('is not made of %j, and the refusal does not repeat it', (password) => {
    expect(() => scramVerifier(password)).toThrow(/^expected a password of printable ASCII characters$/);
  });
});
