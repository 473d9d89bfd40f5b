import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { combinedCrc, crcOf, emptyCrc, formatCrc } from '../../../lib/common/crc64nvme.ts';

test('the check value of the catalogue of parametrised CRCs', async () => {
  expect(formatCrc(await crcOf(Buffer.from('123456789')))).toBe(
    Buffer.from('ae8b14860a799888', 'hex').toString('base64'),
  );
});

test('the CRC of two runs follows from the two, whatever their lengths', async () => {
  const bytes = fc.uint8Array({ maxLength: 3000 });
  await fc.assert(
    fc.asyncProperty(bytes, bytes, async (first, second) => {
      const combined = combinedCrc(await crcOf(first), await crcOf(second), second.length);
      expect(combined).toBe(await crcOf(Buffer.concat([first, second])));
    }),
  );
  expect(combinedCrc(emptyCrc, await crcOf(Buffer.from('x')), 1)).toBe(await crcOf(Buffer.from('x')));
});
