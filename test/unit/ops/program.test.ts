import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { encrypt, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { DataOutError, unavailable } from '../../../lib/errors.ts';
import { MalformedSecretError } from '../../../lib/service/stores/secrets.ts';
import { InterruptedError } from '../../../lib/terminal/errors.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { inputOf, makeOpsWorld, type OpsWorld, rowsOf, runTool } from '../../helpers/ops-world.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-ops-'));
  await writeFile(join(folder, 'sample.bam'), 'abc');
  const foreign = await collect(encrypt([Buffer.from('abc')], { recipients: [generateKeyPair().publicKey] }));
  await writeFile(join(folder, 'foreign.c4gh'), foreign);
});
afterAll(() => rm(folder, { recursive: true }));

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
});
const run = (argv: string[], choices = {}) => runTool(argv, world.target, { folder, ...choices });

describe('archive add', () => {
  test('standard input that is shorter than was said is refused', async () => {
    const argv = ['archive', 'add', '-', '--dataset', 'EGAD1', '--path', 'a', '--size'];
    const { exitCode, stderr } = await run([...argv, '4'], { input: inputOf('abc') });
    expect(stderr).toContain('3 bytes, not 4');
    expect(exitCode).toBe(2);
    expect(world.bodies.size).toBe(0);
    expect((await run([...argv, '3'], { input: inputOf('abc') })).exitCode).toBe(0);
    expect((await run([...argv, '3k'], { input: inputOf('abc') })).exitCode).toBe(2);
  });

  test.each([
    ['no such file', ['nothing.bam', '--dataset', 'EGAD1'], 4, 'there is no file nothing.bam'],
    ['a device', ['/dev/null', '--dataset', 'EGAD1'], 2, '/dev/null: this is a device, a pipe or a socket'],
    ['a dataset id of another form', ['sample.bam', '--dataset', 'my-dataset'], 2, 'my-dataset is not a dataset id of'],
    [
      'a file id of another form',
      ['sample.bam', '--dataset', 'EGAD1', '--file-id', 'EGAF1x'],
      2,
      'EGAF1x is not a file id',
    ],
    ['no file', ['--dataset', 'EGAD1'], 2, 'expected a file, or --manifest'],
    ['no dataset', ['sample.bam'], 2, '--dataset'],
    ['an empty dataset id', ['sample.bam', '--dataset', ''], 2, '--dataset'],
    ['a control character in an id', ['sample.bam', '--dataset', 'EGAD\n1'], 2, '--dataset'],
    ['identifiers swapped', ['sample.bam', '--dataset', 'EGAF1', '--file-id', 'EGAD1'], 2, 'EGAF1 is an identifier'],
    ['a control character in the path', ['sample.bam', '--dataset', 'EGAD1', '--path', 'a\u0000b'], 2, '--path'],
    ['a container for another key', ['foreign.c4gh', '--dataset', 'EGAD1'], 2, 'not for the archive key'],
    ['an unknown option', ['sample.bam', '--dataset', 'EGAD1', '--fast'], 2, "unknown option '--fast'"],
  ])('%s', async (_what, argv, code, message) => {
    const { exitCode, stdout, stderr } = await run(['archive', 'add', ...argv]);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(exitCode).toBe(code);
    expect(world.files.size).toBe(0);
    expect(world.bodies.size).toBe(0);
  });

  test('an interrupt ends with 130 and leaves nothing', async () => {
    const signal = AbortSignal.abort(new InterruptedError());
    const { exitCode, stderr } = await run(['archive', 'add', 'sample.bam', '--dataset', 'EGAD1'], { signal });
    expect(exitCode).toBe(130);
    expect(stderr).toContain('interrupted');
    expect(world.bodies.size).toBe(0);
  });
});

describe('dataset', () => {
  beforeEach(async () => {
    await run(['archive', 'add', 'sample.bam', '--dataset', 'EGAD1']);
  });

  test.each([
    ['release', 'released'],
    ['deprecate', 'deprecated'],
  ])('%s makes it %s', async (verb, event) => {
    const { exitCode, stdout } = await run(['dataset', verb, 'EGAD1']);
    expect(stdout).toBe(`EGAD1 is ${event} (1 file, 3 B)\n`);
    expect(exitCode).toBe(0);
    expect(world.events.get('EGAD1')).toBe(event);
  });

  test('list and show', async () => {
    world.events.set('EGAD0', 'released');
    expect(rowsOf(await run(['dataset', 'list', '--json']))).toEqual([
      { datasetId: 'EGAD0', newestEvent: 'released', files: 0, bytes: 0 },
      { datasetId: 'EGAD1', newestEvent: 'registered', files: 1, bytes: 3 },
    ]);
    expect((await run(['dataset', 'list'])).stdout).toBe(
      'DATASET  STATE       FILES  SIZE\nEGAD0    released        0   0 B\nEGAD1    registered      1   3 B\n',
    );
    expect((await run(['dataset', 'show', 'EGAD1'])).stdout).toBe(
      'DATASET  STATE       FILES  SIZE\nEGAD1    registered      1   3 B\n',
    );
  });
});

describe('what went wrong is told by the exit code', () => {
  const named = (name: string, more = {}) => Object.assign(new Error('odd'), { name, ...more });
  const notHeard = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const loggedOut = 'there are no valid AWS credentials: ';
  test.each<[string, Error, number, string?]>([
    ['throttled', unavailable('the database is temporarily unavailable'), 7, 'Wait a minute'],
    ['not allowed', new DataOutError('forbidden', 'no'), 3],
    ['refused', named('AccessDeniedException'), 3, 'AWS refused the credentials: AccessDeniedException\nCheck'],
    ['no credentials', named('CredentialsProviderError'), 3, `${loggedOut}CredentialsProviderError\nLog in`],
    ['expired credentials', named('ExpiredTokenException'), 3, `${loggedOut}ExpiredTokenException\nLog in`],
    ['nothing listens', notHeard, 7, 'Check whether the local engine or the network is up'],
    ['nothing listens, wrapped', new Error('x', { cause: notHeard }), 7],
    ['on every address', new AggregateError([notHeard]), 7],
    ['a secret that is not JSON', new MalformedSecretError('the secret arn is not JSON'), 2],
    ['a full disk', Object.assign(new Error('write'), { code: 'ENOSPC', syscall: 'write' }), 6],
    ['an unknown answer of AWS', named('Odd', { $metadata: { httpStatusCode: 400 } }), 1],
    ['anything else', new Error('odd'), 1],
  ])('%s', async (_what, error, code, said = '') => {
    world.failures.set('findDataset', { error });
    const { exitCode, stdout, stderr } = await run(['dataset', 'show', 'EGAD1']);
    expect([exitCode, stdout]).toEqual([code, '']);
    expect(stderr).toContain(said);
    const json = (await run(['dataset', 'show', 'EGAD1', '--json'])).stderr.trim().split('\n').at(-1);
    expect(JSON.parse(json!)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
  });

  test('control characters from elsewhere do not reach the terminal', async () => {
    const { stderr } = await run(['archive', 'add', '\u001b[2Jx', '--dataset', 'EGAD1']);
    expect(stderr).not.toContain('\u001b');
  });
});
