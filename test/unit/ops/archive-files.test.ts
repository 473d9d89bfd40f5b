import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { unavailable } from '../../../lib/errors.ts';
import { CatalogueConflictError } from '../../../lib/ops/catalogue/writer.ts';
import { makeOpsWorld, type OpsWorld, rowsOf, runTool } from '../../helpers/ops-world.ts';
import { blocksOf } from '../../helpers/pages.ts';

let folder: string;
let world: OpsWorld;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-archive-'));
  world = await makeOpsWorld();
});
afterEach(() => rm(folder, { recursive: true }));

const run = (argv: string[], choices = {}) => runTool(argv, world.target, { folder, ...choices });
const add = (...argv: string[]) => run(['archive', 'add', ...argv]);
/** Adds the files of the folder `study` by the manifest that the page's line makes of it. */
const manifestLine = blocksOf('docs/operations.md').find(({ text }) => text.includes('> files.csv'))?.text ?? '';
const addStudy = (argv: string[], choices = {}) => {
  execFileSync('bash', ['-ec', manifestLine], { cwd: folder });
  return run(['archive', 'add', 'study', '--manifest', 'files.csv', ...argv], choices);
};
const archived = () =>
  [...world.files.values()]
    .map(({ fileId, submissionFilePath: path }) => ({ path, datasets: [...(world.memberships.get(fileId) ?? [])] }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
const uploads = () => world.calls.filter((name) => name === 'upload').length;

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

describe('archive add of several files', () => {
  test('all files of a folder: each under its path from the folder on', async () => {
    await put({ 'study/a.vcf': 'a', 'study/deep/b, "two".vcf': 'bb', 'study/.hidden': 'x', 'study/.git/c': 'x' });
    const { exitCode, stdout, stderr } = await addStudy(['--dataset', 'EGAD1', '--parallel', '1']);
    expect(archived()).toEqual([
      { path: 'a.vcf', datasets: ['EGAD1'] },
      { path: 'deep/b, "two".vcf', datasets: ['EGAD1'] },
    ]);
    expect(stdout).toMatch(/^EGAF9\d{10} added to EGAD1: a\.vcf, 1 B, SHA-256 [0-9a-f]{64}$/m);
    expect(stderr).toBe(
      'target: a deployment in memory\n' +
        '2 files: 2 added (3 B in 0 ms)\nnote: ids that begin with EGAF9 are local, not of the central archive\n',
    );
    expect(exitCode).toBe(0);
  });

  test('the same command again adds what is missing, and reads nothing that exists', async () => {
    await put({ 'study/a': 'a', 'study/b': 'bb' });
    await addStudy(['--dataset', 'EGAD1']);
    await put({ 'study/c': 'ccc' });
    const again = await addStudy(['--dataset', 'EGAD1', '--json', '--parallel', '1']);
    expect(rowsOf(again).map(({ path, status }) => [path, status])).toEqual([
      ['a', 'unchanged'],
      ['b', 'unchanged'],
      ['c', 'added'],
      [undefined, undefined],
    ]);
    expect(rowsOf(again).at(-1)).toEqual({ summary: { added: 1, linked: 0, unchanged: 2, failed: 0, bytes: 3 } });
    expect(uploads()).toBe(3);
    expect((await addStudy(['--dataset', 'EGAD1'])).stderr).toContain(
      '3 files: 0 added (0 B in 0 ms), 3 already present',
    );
  });

  test('a file of another size is never replaced; the others are added', async () => {
    await put({ 'study/a': 'a', 'study/b': 'bb' });
    await addStudy(['--dataset', 'EGAD1']);
    await put({ 'study/a': 'changed', 'study/c': 'c' });
    const { exitCode, stderr } = await addStudy(['--dataset', 'EGAD1']);
    expect(stderr).toMatch(/warning: a: EGAD1 has a with 1 bytes, not 7: .* archive remove EGAF9\d{10}/);
    expect(stderr).toContain('1 of 3 files were not added: correct them and repeat the command');
    expect(exitCode).toBe(5);
    expect(archived().map(({ path }) => path)).toEqual(['a', 'b', 'c']);
  });

  const forgetSizes = () => {
    for (const [id, { submissionFileSize: _, ...file }] of world.files) world.files.set(id, file);
  };
  test.each([
    ['with --check', ['--check'], () => {}],
    ['where the catalogue has no size', [], forgetSizes],
  ])('other content of the same size is found %s', async (_what, argv, prepare) => {
    await put({ 'study/a': 'a', 'study/b': 'b' });
    await addStudy(['--dataset', 'EGAD1']);
    await put({ 'study/a': 'x' });
    expect((await addStudy(['--dataset', 'EGAD1'])).exitCode).toBe(0);
    prepare();
    const { exitCode, stderr } = await addStudy(['--dataset', 'EGAD1', ...argv]);
    expect(stderr).toMatch(/a: file id EGAF9\d{10} is taken by a file of other content/);
    expect(stderr).toContain('2 files: 0 added (0 B in 0 ms), 1 already present, 1 failed');
    expect(exitCode).toBe(5);
  });

  test('a manifest gives ids, paths and datasets, from the folder on', async () => {
    await put({
      'study/a': 'a',
      'study/b': 'b',
      'study/c': 'c',
      'files.csv': 'path,file_id,submission_path,dataset\na,EGAF1,first/a,\nb,EGAF2,,EGAD2\n',
    });
    const argv = ['study', '--manifest', 'files.csv', '--dataset', 'EGAD1'];
    const { exitCode } = await add(...argv);
    expect(exitCode).toBe(0);
    expect([...world.files.keys()].sort()).toEqual(['EGAF1', 'EGAF2']);
    expect(archived()).toEqual([
      { path: 'b', datasets: ['EGAD2'] },
      { path: 'first/a', datasets: ['EGAD1'] },
    ]);
    expect(rowsOf(await add(...argv, '--json')).map(({ status }) => status)).toEqual([
      'unchanged',
      'unchanged',
      undefined,
    ]);
    // Into one more dataset, by the id.
    await put({ 'more.csv': 'path,file_id,submission_path\nstudy/a,EGAF1,first/a\n' });
    expect(rowsOf(await add('--manifest', 'more.csv', '--dataset', 'EGAD2', '--json'))[0]).toMatchObject({
      status: 'linked',
    });
    await put({ 'other.csv': 'path,file_id,submission_path\nstudy/a,EGAF9,first/a\n' });
    const other = await add('--manifest', 'other.csv', '--dataset', 'EGAD1');
    expect([other.exitCode, other.stderr]).toEqual([5, expect.stringContaining('under the id EGAF1, not EGAF9')]);
  });

  test('a manifest with links and a missing file names all of its wrong lines at once, and adds nothing', async () => {
    const paths = ['study/a.bam', 'study/linked.bam', './study/linked/key.pem', 'study/b.bam'];
    await put({ 'outside/key.pem': 'secret', 'study/a.bam': 'a', 'files.csv': `path\n${paths.join('\n')}\n` });
    await symlink(join(folder, 'outside/key.pem'), join(folder, 'study/linked.bam'));
    await symlink('../outside', join(folder, 'study/linked'));
    const { exitCode, stderr } = await add('--manifest', 'files.csv', '--dataset', 'EGAD1');
    expect([...stderr.matchAll(/^warning: files\.csv, (.+)$/gm)].map(([, line]) => line)).toEqual([
      'line 3, column path: study/linked.bam is a symbolic link',
      'line 4, column path: study/linked is a symbolic link',
      'line 5, column path: there is no file study/b.bam',
    ]);
    expect(stderr).toContain('--manifest: 3 lines of files.csv are wrong, see above; nothing was added\n');
    expect(exitCode).toBe(2);
    expect(world.files.size).toBe(0);
  });

  test('an error that every file would meet ends the run; what was added stays', async () => {
    await put({ 'study/a': 'a', 'study/b': 'b', 'study/c': 'c' });
    world.failures.set('upload', { error: unavailable('the archive bucket is down') });
    const { exitCode, stderr } = await addStudy(['--dataset', 'EGAD1', '--parallel', '1']);
    expect(stderr).toContain('the archive bucket is down');
    expect(exitCode).toBe(7);
    expect(uploads()).toBe(1);
    world.failures.clear();
    expect((await addStudy(['--dataset', 'EGAD1'])).exitCode).toBe(0);
    expect(world.files.size).toBe(3);
  });
});

describe('archive list and show', () => {
  beforeEach(async () => {
    await put({ a: 'a', b: 'bb' });
    await add('a', '--dataset', 'EGAD1', '--file-id', 'EGAF1');
    await add('b', '--dataset', 'EGAD2', '--file-id', 'EGAF2', '--path', 'x/b');
  });

  test('list: all files, or those of a dataset', async () => {
    expect((await run(['archive', 'list'])).stdout).toBe(
      'FILE   DATASET  SIZE  PATH\nEGAF1  EGAD1     1 B  a\nEGAF2  EGAD2     2 B  x/b\n',
    );
    expect(rowsOf(await run(['archive', 'list', '--dataset', 'EGAD2', '--json']))).toEqual([
      {
        fileId: 'EGAF2',
        submissionFilePath: 'x/b',
        submissionFileSize: 2,
        decryptedFileSize: 2,
        datasetIds: ['EGAD2'],
      },
    ]);
    expect((await run(['archive', 'list', '--dataset', 'EGAD404'])).exitCode).toBe(4);
    world.files.clear();
    expect((await run(['archive', 'list'])).stderr).toContain('there are no files yet');
  });

  test('show: everything but the header', async () => {
    world.events.set('EGAD1', 'released');
    const { stdout } = await run(['archive', 'show', 'EGAF1']);
    // SHA-256 of "a", from sha256sum.
    const digest = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';
    expect(stdout).toContain(`plaintext    1 B, SHA-256 ${digest}\n`);
    expect(stdout).toContain('datasets     EGAD1 (released)\n');
    const fingerprint = createHash('sha256').update(world.archiveKey.publicKey).digest('hex');
    expect(stdout).toContain(`archive key  ${fingerprint}\n`);
    expect((await run(['archive-key', 'show'])).stdout).toContain(`fingerprint ${fingerprint}, for new files\n`);
    const json = await run(['archive', 'show', 'EGAF1', '--json']);
    expect(rowsOf(json)[0]).toMatchObject({ fileId: 'EGAF1', unencryptedSha256: digest, releasedIn: ['EGAD1'] });
    expect(json.stdout).not.toContain('header');
    expect((await run(['archive', 'show', 'EGAF404'])).exitCode).toBe(4);
  });
});

describe('archive remove', () => {
  const remove = (...argv: string[]) => run(['archive', 'remove', ...argv]);

  beforeEach(async () => {
    await put({ a: 'a', b: 'bb' });
    await add('a', '--dataset', 'EGAD1', '--file-id', 'EGAF1');
    await add('b', '--dataset', 'EGAD1', '--file-id', 'EGAF2');
    world.calls.length = 0;
  });

  test('the row goes before the body', async () => {
    expect(await remove('EGAF1', '--yes')).toMatchObject({ exitCode: 0, stdout: 'EGAF1 is removed\n' });
    expect(world.calls.filter((name) => name.startsWith('remove'))).toEqual(['removeFile', 'remove']);
    expect([[...world.files.keys()], world.bodies.size]).toEqual([['EGAF2'], 1]);
    expect(world.removals).toEqual([{ removalId: expect.stringMatching(/^[0-9a-f-]{36}$/), fileId: 'EGAF1' }]);
  });

  test('asks, and takes the id alone for a yes', async () => {
    const asked: string[] = [];
    const answer = (text: string) => ({
      askShown: async (question: string) => {
        asked.push(question);
        return text;
      },
    });
    const refused = await run(['archive', 'remove', 'EGAF1'], answer('yes'));
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('not confirmed; nothing was removed'),
    });
    expect(asked).toEqual(['To remove EGAF1 in EGAD1: a, 1 B for good, type EGAF1: ']);
    const alone = await remove('EGAF1');
    expect(alone).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no terminal to ask on') });
    expect(world.files.size).toBe(2);
    expect((await run(['archive', 'remove', 'EGAF1'], answer('EGAF1'))).exitCode).toBe(0);
    expect(world.files.size).toBe(1);
  });

  test('while a dataset that holds it is released, nothing goes, and the command says what to do', async () => {
    world.events.set('EGAD1', 'released');
    for (const argv of [['EGAF1'], ['--dataset', 'EGAD1']]) {
      const { exitCode, stderr } = await remove(...argv, '--yes');
      expect(stderr).toContain('is released: run data-out-ops dataset deprecate EGAD1 first');
      expect(exitCode).toBe(9);
    }
    expect([world.files.size, world.bodies.size]).toEqual([2, 2]);
  });

  test('a dataset: all its files, but those that another dataset holds only leave it', async () => {
    await add('a', '--dataset', 'EGAD2', '--file-id', 'EGAF1');
    const removed = await remove('--dataset', 'EGAD1', '--yes', '--json');
    expect(removed.exitCode).toBe(0);
    const outcomes = rowsOf(removed);
    expect(outcomes).toMatchObject([
      { fileId: 'EGAF1', outcome: 'held_elsewhere' },
      { fileId: 'EGAF2', outcome: 'removed' },
    ]);
    expect(new Set(outcomes.map(({ removalId }) => removalId)).size).toBe(1);
    expect(archived()).toEqual([{ path: 'a', datasets: ['EGAD2'] }]);
    expect(world.bodies.size).toBe(1);
    expect((await remove('--dataset', 'EGAD1', '--yes')).stderr).toContain('the dataset has no files');
  });

  test('a body that cannot be removed is named, and its row is gone', async () => {
    world.failures.set('remove', { error: unavailable('the archive bucket is down') });
    const { exitCode, stderr } = await remove('EGAF1', '--yes');
    expect(stderr).toMatch(/EGAF1 is removed, but body [0-9a-f-]{36} is left in the archive bucket/);
    expect(exitCode).toBe(9);
    expect(world.files.has('EGAF1')).toBe(false);
  });

  test('a file of a pipeline, or with its body in another bucket, stays', async () => {
    world.failures.set('removeFile', { error: new CatalogueConflictError('a pipeline keeps records of it') });
    const { exitCode, stderr } = await remove('EGAF1', '--yes');
    expect([exitCode, stderr]).toEqual([9, expect.stringContaining('a pipeline keeps records')]);
    world.files.set('EGAF2', { ...world.files.get('EGAF2')!, archiveLocation: 'https://s3.example/other' });
    const other = await remove('EGAF2', '--yes');
    expect([other.exitCode, other.stderr]).toEqual([9, expect.stringContaining('is in https://s3.example/other')]);
    expect(world.bodies.size).toBe(2);
  });
});
