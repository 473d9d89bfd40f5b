import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { encryptHeader, publicKeyOf, reencryptHeader } from '../../../../lib/crypt4gh/index.ts';

/**
 * Bytes of derived headers, computed by its own program in Python (hashlib, hmac and the `cryptography` package).
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
      '637279707434676801000000010000006c00000000000000b44a0d2fad12daf4075cb99564126ee5f43447ef3a43ac0490771da4aa' +
        'cc2934691d46bfb0212f10894bc1d409a24222d79116a77129b67517fd1771e8f2b52d49c0f2be082ca7d7af331030d25033361523' +
        'd2d2adf56d9d3cda30ead736eb259031c966',
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
    '3ff2f550180fa5239c2f31c4e56d9d3c6f243d510ec3b39df1618285e67f8579',
  );
});
