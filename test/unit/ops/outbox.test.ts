import { beforeEach, describe, expect, test } from 'vitest';
import { makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

const one = '11111111-1111-4111-8111-111111111111';
const two = '22222222-2222-4222-8222-222222222222';
/** SHA-256 over `27:https://issuer.example.org/jane`, by sha256sum. */
const jane = '04fb769be9ba4d4b83807c30800096f6b8f5f14a1d81fa1185d71629c69a21c6';
const directKey = `direct/${'0a'.repeat(32)}/EGAF1-a.c4gh`;

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
  stage('EGAF1', { size: 1024 });
  stage('EGAF2', { requestId: two, datasetId: 'EGAD2' });
});
function stage(fileId: string, { requestId = one, datasetId = 'EGAD1', recipient = jane, size = 7 } = {}) {
  const key = `${recipient}/${fileId}-a.c4gh`;
  world.outbox.stage({ requestId, fileId, datasetId, recipient, key, state: 'staged' }, size);
  return key;
}
const run = (argv: string[], choices = {}) => runTool(['outbox', ...argv], world.target, choices);
const filesOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { fileId: string }).fileId);
const left = () => [...world.outbox.objects.keys()].sort();

describe('outbox list', () => {
  test('shows a table of what a person has', async () => {
    const { stdout, exitCode } = await run(['list', '--subject', 'https://issuer.example.org/,jane']);
    expect(exitCode).toBe(0);
    const [titles, first, second, ...more] = stdout.trimEnd().split('\n');
    expect(titles?.split(/ {2,}/)).toEqual(['KEY', 'DATASET', 'FILE', 'REQUEST', 'SIZE', 'SINCE']);
    const since = '2026-11-21T09:00:01.000Z';
    expect(first?.split(/ {2,}/)).toEqual([`${jane}/EGAF1-a.c4gh`, 'EGAD1', 'EGAF1', one, '1.0 KiB', since]);
    expect(second?.split(/ {2,}/)).toEqual([`${jane}/EGAF2-a.c4gh`, 'EGAD2', 'EGAF2', two, '7 B', since]);
    expect(more).toEqual([]);
  });

  test.each([
    [['--dataset', 'EGAD2'], ['EGAF2']],
    [['--request', one.toUpperCase()], ['EGAF1']],
    [
      ['--subject', jane],
      ['EGAF1', 'EGAF2'],
    ],
  ])('%j with --json: one object per line', async (filter, files) => {
    expect(filesOf((await run(['list', '--json', ...filter])).stdout)).toEqual(files);
  });

  test('of a dataset shows the short-lived containers of direct access, too', async () => {
    world.outbox.hold(directKey);
    expect((await run(['list', '--dataset', 'EGAD1'])).stdout).toContain(directKey);
    expect((await run(['list', '--subject', jane])).stdout).not.toContain(directKey);
  });

  test('shows no container that has come from another dataset, and one object once', async () => {
    const key = stage('EGAF3');
    world.outbox.rows.push({
      requestId: two,
      fileId: 'EGAF3',
      datasetId: 'EGAD1',
      recipient: jane,
      key,
      state: 'staged',
    });
    expect(filesOf((await run(['list', '--json', '--dataset', 'EGAD1'])).stdout)).toEqual(['EGAF1', 'EGAF3']);
    world.outbox.hold(key, { datasetId: 'EGAD2', fileId: 'EGAF3' });
    expect(filesOf((await run(['list', '--json', '--dataset', 'EGAD1'])).stdout)).toEqual(['EGAF1']);
  });

  test.each([
    ['nothing of that dataset', ['--dataset', 'EGAD404']],
    ['nothing of that person', ['--subject', 'https://issuer.example.org/,john']],
    ['nothing of that request', ['--request', '33333333-3333-4333-8333-333333333333']],
  ])('%s: a note says so', async (_what, filter) => {
    const { exitCode, stdout, stderr } = await run(['list', ...filter]);
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(stderr).toContain('the outbox has no such container');
  });

  test('changes nothing', async () => {
    await run(['list', '--subject', jane]);
    expect(world.outbox.calls).toEqual([]);
  });
});

describe.each(['list', 'purge'])('outbox %s', (verb) => {
  test.each([
    ['nothing said', []],
    ['two things said', ['--dataset', 'EGAD1', '--subject', jane]],
    ['no UUID', ['--request', 'EGAD1']],
    ['no comma', ['--subject', 'jane']],
    ['an empty sub', ['--subject', 'https://issuer.example.org/,']],
  ])('with %s is wrong usage', async (_what, filter) => {
    const { exitCode } = await run([verb, '--yes', ...filter].filter((word) => verb === 'purge' || word !== '--yes'));
    expect(exitCode).toBe(2);
    expect(left()).toHaveLength(2);
  });
});

describe('outbox purge', () => {
  const person = (answer: string) => {
    const asked: string[] = [];
    const askShown = async (question: string) => {
      asked.push(question);
      return answer;
    };
    return { askShown, asked };
  };

  test('asks, deletes, and tells the audit trail', async () => {
    const { askShown, asked } = person('purge');
    const { exitCode, stdout } = await run(['purge', '--dataset', 'EGAD1'], { askShown });
    expect(exitCode).toBe(0);
    expect(asked).toEqual(['To delete 1 container (1.0 KiB) for good, type purge: ']);
    expect(stdout).toContain(`${jane}/EGAF1-a.c4gh`);
    expect(stdout).toContain('purged 1 container (1.0 KiB)');
    expect(left()).toEqual([`${jane}/EGAF2-a.c4gh`]);
    const told = { requestId: one, event: 'purged', datasetId: 'EGAD1', fileId: 'EGAF1', recipient: jane, bytes: 1024 };
    expect(world.outbox.events).toEqual([{ ...told, keyFingerprint: 'ab12' }]);
    expect(world.outbox.settled).toEqual([expect.objectContaining({ requestId: one, end: 'withdrawn' })]);
  });

  test.each([
    ['another word', person('yes').askShown, 'not confirmed'],
    ['no word', person('').askShown, 'not confirmed'],
    ['no terminal to ask on', undefined, 'add --yes'],
  ])('after %s deletes nothing', async (_what, askShown, message) => {
    const { exitCode, stderr } = await run(['purge', '--subject', jane], askShown && { askShown });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain('nothing was deleted');
    expect(left()).toHaveLength(2);
    expect(world.outbox.calls).toEqual([]);
  });

  test('with --yes does not ask; --json has one object for each deleted container', async () => {
    const { stdout } = await run(['purge', '--subject', jane, '--yes', '--json']);
    expect(filesOf(stdout)).toEqual(['EGAF1', 'EGAF2']);
    expect(left()).toEqual([]);
    expect((await run(['purge', '--subject', jane, '--yes'])).stderr).toContain('no such container');
  });

  test('while requests of the person are open says so, and deletes nothing without --force', async () => {
    world.open.requests = 2;
    const refused = await run(['purge', '--subject', jane, '--yes']);
    expect([refused.exitCode, refused.stdout]).toEqual([9, '']);
    expect(refused.stderr).toContain('2 open requests of this person can still stage containers; nothing was deleted');
    expect(left()).toHaveLength(2);
    const forced = await run(['purge', '--subject', jane, '--yes', '--force']);
    expect(forced).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('purged 2 containers') });
    expect(left()).toEqual([]);
  });

  test('while requests of the person are open says so, also when the outbox has nothing yet', async () => {
    world.open.requests = 1;
    world.outbox.objects.clear();
    expect(await run(['purge', '--subject', jane, '--yes'])).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining('1 open request of this person can still stage containers'),
    });
  });

  test('of a dataset deletes the short-lived containers of direct access, too', async () => {
    world.outbox.hold(directKey, { requestId: two });
    await run(['purge', '--dataset', 'EGAD1', '--yes']);
    expect(left()).toEqual([`${jane}/EGAF2-a.c4gh`]);
    expect(world.outbox.events.map(({ requestId }) => requestId).sort()).toEqual([one, two]);
  });

  test('leaves a container that was replaced meanwhile, and says so', async () => {
    const key = `${jane}/EGAF1-a.c4gh`;
    world.outbox.afterHead = () => world.outbox.hold(key, { requestId: two });
    const { exitCode, stdout, stderr } = await run(['purge', '--request', one, '--yes']);
    expect(exitCode).toBe(5);
    expect(left()).toContain(key);
    expect(stdout).toContain('purged 0 containers');
    expect(stderr).toContain('1 of 1 containers have changed');
    expect(world.outbox.events).toEqual([]);
  });

  test('writes nothing about containers that have expired', async () => {
    world.outbox.objects.delete(`${jane}/EGAF1-a.c4gh`);
    await run(['purge', '--subject', jane, '--yes']);
    expect(world.outbox.settled.map(({ fileId }) => fileId)).toEqual(['EGAF2']);
  });
});
