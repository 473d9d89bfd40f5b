import { deepStrictEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Claims } from '../../lib/client/api/receipts/claims.ts';
import { parseKeySet } from '../../lib/client/api/receipts/key-set.ts';
import { combine } from '../../lib/client/api/receipts/receipt-files.ts';
import { verifyReceipt } from '../../lib/client/api/receipts/verify-receipt.ts';
import { filesPerReceipt } from '../../lib/contract/delivery.ts';
import { ReceiptSigner, receiptOf } from './receipts.ts';

/**
 * Run as a process: verifies a receipt of so many parts, each of which is made when its turn comes, and prints its bytes, its files
 * and the peak memory of the process in bytes.
 */
const parts = Number(process.argv[2]);
const signer = new ReceiptSigner();
const keys = await parseKeySet(JSON.stringify(signer.keySet), 'test');
let bytes = 0;

function fileOf(index: number) {
  const id = `EGAF${String(index).padStart(11, '0')}`;
  const digest = (what: string) => createHash('sha256').update(`${what}${index}`).digest();
  return {
    name: `${id}-sample_${index}.bam.c4gh`,
    file_id: id,
    path: `study/batch-${index % 1000}/sample_${index}.bam`,
    size: 1124 + index,
    plaintext_size: 972 + index,
    plaintext_sha256: digest('p').toString('hex'),
    crc64nvme: digest('c').subarray(0, 8).toString('base64'),
    header_sha256: digest('h').toString('hex'),
  };
}

const receipts = [];
for (let part = 1; part <= parts; part += 1) {
  const files = Array.from({ length: filesPerReceipt }, (_, index) => fileOf((part - 1) * filesPerReceipt + index));
  const jws = signer.sign(receiptOf(files, { part, parts }));
  bytes += jws.length;
  receipts.push(await verifyReceipt(jws, keys));
}
const claims = new Claims([combine(receipts).receipt]);
for (const index of [0, parts * filesPerReceipt - 1]) {
  deepStrictEqual(claims.of(fileOf(index).name)?.file, fileOf(index));
}
process.stdout.write(JSON.stringify({ bytes, files: claims.size, peak: process.resourceUsage().maxRSS * 1024 }));
