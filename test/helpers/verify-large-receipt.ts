import { deepStrictEqual } from 'node:assert/strict';
import { createHash, createSign, generateKeyPairSync } from 'node:crypto';
import { Claims } from '../../lib/client/api/delivery/claims.ts';
import { parseKeySet } from '../../lib/client/api/delivery/key-set.ts';
import { verifyReceipt } from '../../lib/client/api/delivery/verify-receipt.ts';
import { receiptOf } from './receipts.ts';

/**
 * Run as a process: verifies a receipt of so many files, which is made while it is read, and prints its bytes, the peak memory of the
 * process in bytes, and the last name.
 */
const count = Number(process.argv[2]);
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = publicKey.export({ format: 'jwk' });
const keys = parseKeySet(JSON.stringify({ keys: [{ ...jwk, kid: 'k' }] }), 'test');
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

async function* jws() {
  const signing = createSign('sha256');
  const out = (text: string) => {
    signing.update(text);
    bytes += text.length;
    return Buffer.from(text, 'latin1');
  };
  const header = { alg: 'ES256', typ: 'data-out-delivery+jwt', kid: 'k' };
  yield out(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.`);
  const [head = '', tail = ''] = JSON.stringify(receiptOf([])).split('"files":[]');
  let held = Buffer.from(`${head}"files":[`);
  for (let index = 0; index < count; index += 1) {
    held = Buffer.concat([held, Buffer.from(`${index > 0 ? ',' : ''}\n${JSON.stringify(fileOf(index))}`)]);
    const whole = held.length - (held.length % 3);
    if (index % 100 === 0) {
      yield out(held.toString('base64url', 0, whole));
      held = held.subarray(whole);
    }
  }
  yield out(Buffer.concat([held, Buffer.from(`]${tail}`)]).toString('base64url'));
  yield Buffer.from(`.${signing.sign({ key: privateKey, dsaEncoding: 'ieee-p1363' }, 'base64url')}`);
}

const claims = new Claims([await verifyReceipt(jws(), keys)]);
for (const index of [0, count - 1]) deepStrictEqual(claims.of(fileOf(index).name)?.file, fileOf(index));
process.stdout.write(JSON.stringify({ bytes, files: claims.size, peak: process.resourceUsage().maxRSS * 1024 }));
