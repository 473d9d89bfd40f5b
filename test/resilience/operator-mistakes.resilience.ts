import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { startEngine } from '../../lib/local/engine.ts';
import { assembly } from '../helpers/assembly.ts';
import { makeTestIssuer } from '../helpers/issuer.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { readPage } from '../helpers/pages.ts';
import { ProxyCaller } from '../helpers/proxy-caller.ts';
import { receive } from '../helpers/receive.ts';
import { mountSmallDisk } from '../helpers/small-disk.ts';

/** Mistakes and accidents of docs/operators.md that its walk cannot make. */
const root = join(import.meta.dirname, '../..');
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-operator-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a wrong setting ends the synth with the names of the fields, as the page shows', async () => {
  await mkdir(join(folder, 'bin'));
  await cp(join(root, 'bin/app.ts'), join(folder, 'bin/app.ts'));
  const settings = await readFile(join(root, 'bin/settings.ts'), 'utf8');
  await writeFile(join(folder, 'bin/settings.ts'), settings.replace('outboxExpiryDays: 30', 'outboxExpiryDays: 400'));
  for (const name of ['lib', 'node_modules', 'package.json']) await symlink(join(root, name), join(folder, name));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/app.ts'], { cwd: folder, encoding: 'utf8' });
  const said = 'Error: bin/settings.ts cannot work:\n  outboxExpiryDays: expected a whole number from 1 to 365\n';
  expect([status, stdout, stderr]).toEqual([1, '', said]);
  expect(readPage('docs/operators.md')).toContain(`\`\`\`text\n${said}\`\`\``);
});

test('an issuer of smoke tests ends the synth of a deployment for production, and not that of a test stage', async () => {
  const smokeIssuer = await makeTestIssuer({ iss: 'https://smoke.example.org', entry: { purpose: 'smoke-test' } });
  for (const name of ['bin', 'lib', 'config']) await cp(join(root, name), join(folder, name), { recursive: true });
  for (const name of ['docs', 'lambdas', 'node_modules', 'package-lock.json', 'package.json'])
    await symlink(join(root, name), join(folder, name));
  await writeFile(join(folder, 'config/trusted-issuers.json'), JSON.stringify([smokeIssuer.entry]));
  // Nothing is bundled: what counts is whether the application goes on.
  const { context } = JSON.parse(await readFile(join(root, 'cdk.json'), 'utf8'));
  const unbundled = JSON.stringify({ ...context, 'aws:cdk:bundling-stacks': [] });
  const env = { ...process.env, CDK_CONTEXT_JSON: unbundled, CDK_OUTDIR: join(folder, 'out') };
  const synth = () => spawnSync(process.execPath, ['bin/app.ts'], { cwd: folder, encoding: 'utf8', env });
  const refused = synth();
  expect([refused.status, refused.stdout, refused.stderr]).toEqual([
    1,
    '',
    'Error: config/trusted-issuers.json: smoke_issuer_in_production: https://smoke.example.org is an issuer of smoke tests, and ' +
      "this deployment is for production. Remove the issuer, or set purpose: 'test' in bin/settings.ts\n",
  ]);
  const settings = await readFile(join(folder, 'bin/settings.ts'), 'utf8');
  await writeFile(join(folder, 'bin/settings.ts'), settings.replace("archiveKind: 'fega',", "$& purpose: 'test',"));
  const taken = synth();
  expect(taken.status, taken.stderr).toBe(0);
});

test('an emoji in a file name and in a subject', async () => {
  const engine = await startEngine({ assemblyDir: await assembly(), connectionPath: join(folder, 'connection.json') });
  const run = (...argv: readonly string[]) => opsProcess(argv, { connectionPath: engine.connectionPath });
  try {
    const path = '👩‍🔬 🧬.txt';
    await writeFile(join(folder, path), 'abc');
    const dataset = 'EGAD00000000001';
    const added = await run('archive', 'add', join(folder, path), '--dataset', dataset, '--file-id', 'EGAF00000000001');
    expect(added).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(': 👩\\u{200d}🔬 🧬.txt, 3 B') });
    const shown = await run('archive', 'show', 'EGAF00000000001', '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ submissionFilePath: path });
    await run('dataset', 'release', dataset);
    const visa = (await run('visa', 'issue', '--subject', '👩‍🔬@example.org', '--dataset', dataset)).stdout.trim();
    const recipient = generateKeyPair();
    const proxy = new ProxyCaller(engine.connection, AbortSignal.timeout(40_000));
    await proxy.exportDataset({ datasetId: dataset, visa, publicKey: formatPublicKey(recipient.publicKey) });
    const listed = async () => (await proxy.listOutbox(visa)).map(({ fileName }) => fileName);
    await expect.poll(listed, { timeout: 30_000, interval: 200 }).toContainEqual(expect.stringMatching(/\.c4gh$/));
    const [name = ''] = (await listed()).filter((each) => each.endsWith('.c4gh'));
    expect(await receive(await proxy.stream(visa, name), recipient.privateKey)).toMatchObject({ plaintextSize: 3 });
    const outbox = await run(
      'outbox',
      'list',
      '--subject',
      `${engine.connection.issuer.iss},👩‍🔬@example.org`,
      '--json',
    );
    expect(outbox.stdout).toContain('EGAF00000000001');
  } finally {
    await engine.stop();
  }
}, 90_000);

test('a disk that fills up while a file is added is named; with more room the same command adds it', async ({
  skip,
}) => {
  const disk = mountSmallDisk(join(folder, 'disk'), '100m') ?? skip('needs the right to mount a small disk');
  try {
    const engine = await startEngine({ assemblyDir: await assembly(), dataDir: join(folder, 'disk/state') });
    try {
      await writeFile(join(folder, 'big.bam'), Buffer.alloc(80 << 20, 'ACGT'));
      const argv = ['archive', 'add', join(folder, 'big.bam'), '--dataset', 'EGAD00000000001', '--json'];
      const full = await opsProcess(argv, { connectionPath: engine.connectionPath });
      expect(full.stderr).toContain('"code":"local_disk","message":"the disk of the local engine is full"');
      expect(full.exitCode).toBe(6);
      expect((await engine.database.run('select 1 from sda.files', [])).rows).toEqual([]);
      disk.resize('400m');
      expect(await opsProcess(argv, { connectionPath: engine.connectionPath })).toMatchObject({ exitCode: 0 });
    } finally {
      await engine.stop();
    }
  } finally {
    disk.unmount();
  }
}, 90_000);
