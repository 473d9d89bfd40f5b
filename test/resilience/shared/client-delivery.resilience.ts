import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { runCli } from '../../helpers/cli-run.ts';
import { Service } from '../../helpers/service.ts';

const { privateKey, publicKey } = generateKeyPair();
const files = [
  { path: 'a/one.bam', size: 70_000, fileId: 'EGAF1', name: 'EGAF1-one.bam.c4gh' },
  { path: 'b/two.vcf', size: 5, fileId: 'EGAF2', name: 'EGAF2-two.vcf.c4gh' },
] as const;

let service: Service;
let folder: string;
let requestId: string;
beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-delivery-'));
  for (const { path, size, fileId } of files) await service.archive('EGAD1', path, size, fileId);
  await service.setDataset('EGAD1', 'released');
  const visa = await service.visa({ subject: 'jane' });
  await writeFile(join(folder, 'visa.jwt'), visa, { mode: 0o600 });
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(privateKey), { mode: 0o600 });
  requestId = await service.exported({ id: 'EGAD1', visa, publicKey });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await service?.stop();
});

async function run(...argv: readonly string[]) {
  const { proxyUrl, archiveUser } = service.connection;
  const env = {
    DATA_OUT_URL: proxyUrl,
    DATA_OUT_VISA_FILE: join(folder, 'visa.jwt'),
    DATA_OUT_USERNAME: archiveUser.username,
    DATA_OUT_PASSWORD: archiveUser.password,
  };
  return await runCli(argv, { folder, env });
}

test('the client waits for the receipt of the service, downloads, and verifies', async () => {
  const waiting = run('download', '--wait', '--request', requestId, '-o', 'data', '--timeout', '5m');
  const { exitCode, stderr } = await waiting;
  expect(stderr).toContain(`2 verified; receipt ${requestId} (generation 1, complete)`);
  expect(exitCode).toBe(0);
  const receipt = `EGAD1-${requestId}.delivery.jws`;
  expect((await readdir(join(folder, 'data'))).sort()).toEqual([receipt, ...files.map(({ name }) => name)]);

  const jwks = await fetch(service.url('.well-known/jwks.json'));
  await writeFile(join(folder, 'jwks.json'), await jwks.text());
  for (const keys of [[], ['--keys', 'jwks.json']]) {
    const verified = await run('verify', 'data', '--key', 'me.sec.pem', ...keys);
    expect(verified.stderr).toContain('2 of 2 files verified: 2 by plaintext');
    expect(verified.exitCode).toBe(0);
  }

  // A receipt that a stranger has changed, and a file that has.
  const jws = await readFile(join(folder, 'data', receipt), 'latin1');
  await writeFile(join(folder, 'data', receipt), `${jws.slice(0, -90)}AAAA${jws.slice(-86)}`);
  expect((await run('verify', 'data')).exitCode).toBe(10);
  await writeFile(join(folder, 'data', receipt), jws);
  await writeFile(join(folder, 'data', files[1].name), 'other bytes');
  expect((await run('verify', 'data')).exitCode).toBe(10);
  const listed = await run('list');
  expect(listed).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/^2 files, .*; 1 receipt \(--receipts shows it\)\n$/),
  });
  for (const { name, path } of files) {
    expect(listed.stdout.toString()).toMatch(new RegExp(`^${name} .*  ${path}$`, 'm'));
  }
});
