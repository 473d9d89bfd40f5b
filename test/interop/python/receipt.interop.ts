import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ExportPipeline } from '../../helpers/export-pipeline.ts';
import { listenLocally } from '../../helpers/loopback.ts';
import { blocksOf } from '../../helpers/pages.ts';

const python = process.env.CRYPT4GH_PYTHON;
if (python === undefined) throw new Error('CRYPT4GH_PYTHON names a Python that has the package cryptography');

test('Python checks a receipt with the block of the page, and refuses a changed one', async () => {
  const world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['EGAF1', 'EGAF2', 'EGAF3']);
  world.archive.delete('bodies/EGAF2');
  world.request();
  await world.deliverAll();
  const receipt = [...world.outbox.objects].find(([key]) => key.endsWith('.delivery.jws'))?.[1];
  const jws = Buffer.from(receipt?.bytes ?? []).toString('latin1');
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
