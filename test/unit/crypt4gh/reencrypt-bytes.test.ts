import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { encryptHeader, publicKeyOf, reencryptHeader } from '../../../lib/crypt4gh/index.ts';

/**
 * Bytes of derived headers, computed by a program of its own in Python (hashlib, hmac and the `cryptography` package).
 * Containers that were staged before rest on them: they must never change.
 */
const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const one = Buffer.from('7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13', 'hex');
const other = Buffer.from('0faa684ed28867b97f4a6a2dee5df8ce974e76b7018e3f22a1c4cf2678570f20', 'hex');
const filled = (value: number) => new Uint8Array(32).fill(value);

test('a derived header of one packet is these bytes', () => {
  const header = encryptHeader({ dataKeys: [filled(1)], recipients: [publicKeyOf(secret)] });
  const derivation = { secret, context: 'EGAF00000000001' };
  for (let again = 0; again < 3; again += 1) {
    const rebuilt = reencryptHeader({ header, readerKeys: [secret], recipients: [one], derivation });
    expect(Buffer.from(rebuilt).toString('hex')).toBe(
      '637279707434676801000000010000006c0000000000000037a3f715c0b279b950607f1f9c3b1250f054926c43e70d8d5ac1e1abf433' +
        'bd1be68077d1ba425c9ae0395a1e8ca11157d74ddedc4ad94cd45ffea18910f287c63c123c9827c58817907805c1dc648d070dca4018' +
        'fa661e79ec1c4af2a5ea0d307662706a',
    );
  }
});

test('so is one of three packets for two recipients', () => {
  const header = encryptHeader({
    dataKeys: [filled(1), filled(2)],
    editList: [7n, 8n, 9n],
    recipients: [publicKeyOf(secret)],
  });
  const rebuilt = reencryptHeader({
    header,
    readerKeys: [secret],
    recipients: [one, other],
    derivation: { secret, context: 'EGAF00000000002 å' },
  });
  expect(rebuilt.length).toBe(648);
  expect(createHash('sha256').update(rebuilt).digest('hex')).toBe(
    'c833fd8386b5ef3f1df5b7e3ca51051d2f4c3a2d1d299ac01745f4b7b9a3fec6',
  );
});
