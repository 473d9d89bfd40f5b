import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { finalizeDelivery } from '../../../lib/service/export/receipt/finalize.ts';
import { listenLocally } from '../../helpers/loopback.ts';
import { blocksOf } from '../../helpers/pages.ts';
import { endedFile, ReceiptWorld, requestId, stagedFile } from '../../helpers/receipt-world.ts';

const python = process.env.CRYPT4GH_PYTHON;
if (python === undefined) throw new Error('CRYPT4GH_PYTHON names a Python that has the package cryptography');

test('Python checks a receipt with the block of the page, and refuses a changed one', async () => {
  const world = new ReceiptWorld();
  world.log.rows = [stagedFile('EGAF1'), endedFile('EGAF2', 'given_up'), stagedFile('EGAF3')];
  await finalizeDelivery(requestId, world.dependencies(), () => 900_000);
  const { jws } = world.receipt();
  const jwk = { ...world.signer.publicKey.export({ format: 'jwk' }), ...(await world.signer.identity()) };
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [{ kid: 'another' }, jwk] })));
  const PROXY = await listenLocally(server);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'data-out-receipt-'));
  const RECEIPT = join(folder.path, 'receipt.jws');
  const script = blocksOf('docs/delivery.md').find(({ language }) => language === 'python')?.text ?? '';
  const check = async (receipt: string) => {
    await writeFile(RECEIPT, receipt);
    return await promisify(execFile)(python, ['-c', script], { env: { ...process.env, PROXY, RECEIPT } });
  };
  try {
    expect((await check(jws)).stdout).toBe('incomplete 2 1\n');
    const [header = '', payload = '', signature = ''] = jws.split('.');
    const complete = Buffer.from(payload, 'base64url').toString().replace('"complete":false', '"complete":true');
    const changed = [header, Buffer.from(complete).toString('base64url'), signature].join('.');
    await expect(check(changed)).rejects.toThrow('InvalidSignature');
  } finally {
    server.close();
  }
});
