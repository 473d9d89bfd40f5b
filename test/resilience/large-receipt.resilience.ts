import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parseKeySet } from '../../lib/client/api/receipts/key-set.ts';
import { verifyReceipt } from '../../lib/client/api/receipts/verify-receipt.ts';
import { ReceiptSigner, receiptOf } from '../helpers/receipts.ts';

/** The largest receipts, as the service writes them and as the client reads them. */

const settling = fileURLToPath(new URL('../helpers/settle-large-request.ts', import.meta.url));

/** The end of a request of so many files, each tenth of which was given up. */
async function settled(files: number) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'data-out-receipts-'));
  // As Lambda starts Node.js.
  const limits = ['--max-old-space-size=460', '--max-semi-space-size=25'];
  const argv = [...limits, settling, String(files), folder.path];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  const { outcome, written, peak } = JSON.parse(stdout) as { outcome: unknown; written: string[]; peak: number };
  const receipts = [];
  for (const name of written) {
    const payload = (await readFile(join(folder.path, name), 'latin1')).split('.')[1] ?? '';
    const { part, parts, files, missing } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    receipts.push({ name, part, parts, files: files.length, missing: missing.length, last: files.at(-1).file_id });
  }
  return { outcome, receipts, peak };
}

const name = 'EGAD1-11111111-1111-4111-8111-111111111111';
/** Bytes of the function. */
const memory = 512 * 1024 * 1024;

test('250,000 files are settled in three receipts, the one with the plain name last', {
  timeout: 240_000,
}, async () => {
  const { outcome, receipts, peak } = await settled(250_000);
  expect(outcome).toMatchObject({ outcome: 'settled', state: 'incomplete', staged: 225_000, missing: 25_000 });
  const full = { parts: 3, files: 90_000, missing: 10_000 };
  expect(receipts).toEqual([
    { ...full, name: `${name}.part-1.delivery.jws`, part: 1, last: 'EGAF00000099999' },
    { ...full, name: `${name}.part-2.delivery.jws`, part: 2, last: 'EGAF00000199999' },
    { name: `${name}.delivery.jws`, part: 3, parts: 3, files: 45_000, missing: 5_000, last: 'EGAF00000249999' },
  ]);
  expect(peak).toBeLessThan(memory);
});

test('a receipt of 100,000 files is read by the client', { timeout: 60_000 }, async () => {
  const files = Array.from({ length: 100_000 }, (_, index) => ({
    file_id: 'EGAF00000000001',
    size: 1124,
    plaintext_size: 972,
    plaintext_sha256: 'cd'.repeat(32),
    crc64nvme: 'rosUhgp5mIg=',
    header_sha256: 'ef'.repeat(32),
    name: `EGAF${String(index).padStart(11, '0')}-${'long-'.repeat(20)}.c4gh`,
    path: `/submitted/${'folder/'.repeat(20)}${index}.bam`,
  }));
  const signer = new ReceiptSigner();
  const keys = await parseKeySet(JSON.stringify(signer.keySet), 'test');
  const jws = signer.sign(receiptOf(files));
  expect(jws.length).toBeGreaterThan(70_000_000);
  const receipt = await verifyReceipt(jws, keys);
  expect(receipt.files.length).toBe(100_000);
  expect(receipt.files.at(99_999)).toEqual(files.at(-1));
  expect(receipt.files.at(100_000)).toBeUndefined();
  expect(receipt.files.at(12_345)).toEqual(files[12_345]);
});
