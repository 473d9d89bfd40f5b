import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseKeySet } from '../../lib/client/api/receipts/key-set.ts';
import { verifyReceipt } from '../../lib/client/api/receipts/verify-receipt.ts';
import { deliveredFile, ReceiptSigner, receiptOf } from '../helpers/receipts.ts';

const signer = new ReceiptSigner();
const keys = await parseKeySet(JSON.stringify(signer.keySet), 'test');
const jws = signer.sign(receiptOf([await deliveredFile('EGAF1-a.c4gh', Buffer.alloc(2000))])).toString('latin1');
const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.+/ \n\u0000'];

/** The receipt with one change somewhere, over and over in its last characters. */
const mutations = fc
  .tuple(
    fc.oneof(fc.nat(jws.length - 1), fc.integer({ min: jws.length - 3, max: jws.length - 1 })),
    fc.constantFrom(...alphabet),
    fc.constantFrom('replace', 'insert', 'delete', 'double', 'cut', 'swap'),
  )
  .map(([at, character, how]) => {
    const [before, here, after] = [jws.slice(0, at), jws[at] ?? '', jws.slice(at + 1)];
    if (how === 'replace') return before + character + after;
    if (how === 'insert') return before + character + here + after;
    if (how === 'delete') return before + after;
    if (how === 'double') return before + here + here + after;
    return how === 'cut' ? before : before + after.slice(0, 1) + here + after.slice(1);
  })
  .filter((text) => text !== jws);

test('any change of a receipt is refused', async () => {
  await expect(verifyReceipt(Buffer.from(jws, 'latin1'), keys)).resolves.toMatchObject({ generation: 1 });
  await fc.assert(
    fc.asyncProperty(mutations, async (text) => {
      await expect(verifyReceipt(Buffer.from(text, 'latin1'), keys)).rejects.toMatchObject({ code: 'not_verified' });
    }),
    { numRuns: 1000 },
  );
});

test('any other payload under the old signature is refused', async () => {
  const [header, , signature] = jws.split('.');
  await fc.assert(
    fc.asyncProperty(fc.json(), async (payload) => {
      const text = `${header}.${Buffer.from(payload).toString('base64url')}.${signature}`;
      await expect(verifyReceipt(Buffer.from(text), keys)).rejects.toMatchObject({ code: 'not_verified' });
    }),
  );
});
