import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEngine } from '../../lib/local/engine.ts';
import { assembly } from '../helpers/assembly.ts';
import { makeTestIssuer } from '../helpers/issuer.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { blocksOf, readPage } from '../helpers/pages.ts';
import { mountSmallDisk } from '../helpers/small-disk.ts';

/** Mistakes and accidents of docs/operators.md that its walk cannot make. */
const root = join(import.meta.dirname, '../..');
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-operator-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A checkout that bundles nothing: what counts is whether the application continues. @returns a synth of it */
async function checkout(): Promise<() => ReturnType<typeof spawnSync>> {
  for (const name of ['bin', 'config']) await cp(join(root, name), join(folder, name), { recursive: true });
  for (const name of ['docs', 'lambdas', 'node_modules', 'package-lock.json', 'package.json'])
    await symlink(join(root, name), join(folder, name));
  await cp(join(root, 'lib'), join(folder, 'lib'), { recursive: true });
  await mkdir(join(folder, 'private'));
  const { context } = JSON.parse(await readFile(join(root, 'cdk.json'), 'utf8'));
  const unbundled = JSON.stringify({ ...context, 'aws:cdk:bundling-stacks': [] });
  const env = { ...process.env, CDK_CONTEXT_JSON: unbundled, CDK_OUTDIR: join(folder, 'out') };
  return () => spawnSync(process.execPath, ['bin/app.ts'], { cwd: folder, encoding: 'utf8', env });
}

const writeSettings = (fields: string) =>
  writeFile(join(folder, 'private/settings.ts'), `export const settings = { ${fields} };\n`);

test("a clone without the operator's files deploys nothing", async () => {
  const synth = await checkout();
  const said = (files: string) =>
    `Error: there is no ${files}: a deployment needs your own files. docs/operators.md says how to write them\n`;
  expect(synth()).toMatchObject({
    status: 1,
    stdout: '',
    stderr: said('private/settings.ts, and no private/trusted-issuers.json'),
  });
  await writeSettings('');
  expect(synth()).toMatchObject({ status: 1, stdout: '', stderr: said('private/trusted-issuers.json') });
}, 60_000);

test('with the files of the page, the settings and the issuers of the operator are deployed', async () => {
  const synth = await checkout();
  const [block] = blocksOf('docs/operators.md').filter(({ comment }) =>
    comment?.endsWith('operator-mistakes.resilience.ts'),
  );
  expect(spawnSync('bash', ['--norc', '-euc', block?.text ?? ''], { cwd: folder, encoding: 'utf8' })).toMatchObject({
    stderr: '',
  });
  expect(synth().status).toBe(0);
  expect(await readdir(join(folder, 'out'))).toContain('DataOutService-test.template.json');
}, 60_000);

test('a wrong setting ends the synth with the names of the fields, as the page shows', async () => {
  const synth = await checkout();
  await writeSettings('outboxExpiryDays: 400');
  await writeFile(join(folder, 'private/trusted-issuers.json'), '[]');
  const said =
    'Error: private/settings.ts cannot work:\n  outboxExpiryDays: Too big: expected number to be <=365, got 400\n';
  expect(synth()).toMatchObject({ status: 1, stdout: '', stderr: said });
  expect(readPage('docs/settings.md')).toContain(`\`\`\`text\n${said}\`\`\``);
}, 60_000);

test('an issuer of smoke tests ends the synth of a deployment for production, and not that of a test stage', async () => {
  const synth = await checkout();
  const smokeIssuer = await makeTestIssuer({ iss: 'https://smoke.example.org', entry: { purpose: 'smoke-test' } });
  await writeFile(join(folder, 'private/trusted-issuers.json'), JSON.stringify([smokeIssuer.entry]));
  await writeSettings('');
  expect(synth()).toMatchObject({
    status: 1,
    stdout: '',
    stderr:
      'Error: private/trusted-issuers.json: smoke_issuer_in_production: https://smoke.example.org is an issuer of smoke tests, ' +
      "and this deployment is for production. Remove the issuer, or set purpose: 'test' in private/settings.ts\n",
  });
  await writeSettings("purpose: 'test'");
  const taken = synth();
  expect(taken.status, String(taken.stderr)).toBe(0);
}, 60_000);

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
