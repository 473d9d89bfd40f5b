import { describe, expect, test } from 'vitest';
import { combine } from '../../../../../lib/client/api/receipts/receipt-files.ts';
import type { DeliveryReceipt } from '../../../../../lib/contract/delivery.ts';
import { deliveredFile, receiptOf } from '../../../../helpers/receipts.ts';

const files = await Promise.all(
  ['EGAF1-a', 'EGAF2-b', 'EGAF3-c'].map((name) => deliveredFile(name, Buffer.alloc(200))),
);
const [first, second, third] = [1, 2, 3].map((part) => receiptOf([files[part - 1]!], { part, parts: 3, iat: part }));
const parts = [first!, second!, third!];
const missing = [{ file_id: 'EGAF4', path: '/d', reason: 'given_up' }];
const at = (generation: number) => (part: DeliveryReceipt) => ({ ...part, generation });

describe('the receipts of a request', () => {
  test('are one, with the files of each part in their order and the time of the last', () => {
    const whole = { receipt: receiptOf(files, { iat: 3 }), lacking: undefined };
    expect(combine([third!, first!, second!])).toEqual(whole);
    expect(combine([receiptOf(files, { iat: 3 })])).toEqual(whole);
  });

  test('are complete when the last part says so, whatever the others say', () => {
    const earlier = [first!, { ...second!, complete: false }];
    expect(combine([...earlier, third!]).receipt).toMatchObject({ complete: true });
    const { receipt } = combine([first!, { ...second!, missing }, { ...third!, complete: false }]);
    expect(receipt).toMatchObject({ complete: false, missing });
  });

  test.each([
    ['a part is absent', [first!, third!], /2 parts of 3 in generation 1$/],
    [
      'the last part is of the older generation',
      [...[first!, second!].map(at(2)), third!],
      /2 parts of 3 in generation 2$/,
    ],
    ['the newer generation has begun', [at(2)(first!), ...parts.slice(1)], /1 part of 3 in generation 2$/],
  ])('are not whole when %s', (_, receipts, said) => {
    expect(combine(receipts)).toMatchObject({ receipt: { complete: false }, lacking: expect.stringMatching(said) });
  });

  test('of the newest generation win, and copies do no harm', () => {
    expect(combine([first!, ...parts])).toEqual(combine(parts));
    const renewed = receiptOf(files.slice(1), { generation: 2 });
    expect(combine([renewed, receiptOf(files), renewed])).toEqual({ receipt: renewed, lacking: undefined });
  });
});
