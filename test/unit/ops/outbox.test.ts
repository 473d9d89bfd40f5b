import { beforeEach, describe, expect, test } from 'vitest';
import { outboxMetadataOf } from '../../../lib/contract/outbox-key.ts';
import { ExportPipeline } from '../../helpers/export-pipeline.ts';
import { makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

const one = '11111111-1111-4111-8111-111111111111';
const two = '22222222-2222-4222-8222-222222222222';
const person = 'https://issuer.example,researcher';
/** SHA-256 over `22:https://issuer.exampleresearcher`, by sha256sum. */
const prefix = '24e3da32437ef884922293b4c319107459c35ba3963b65a66bbd4a9286e84cf6';
const [first, second] = [`${prefix}/EGAF1-EGAF1.bin.c4gh`, `${prefix}/EGAF2-EGAF2.bin.c4gh`];
const direct = `direct/${'0a'.repeat(32)}/EGAF1-a.c4gh`;

let exports: ExportPipeline;
let world: OpsWorld;
beforeEach(async () => {
  exports = await ExportPipeline.open();
  world = await makeOpsWorld(exports);
  await exports.addDataset('EGAD1', ['EGAF1']);
  await exports.addDataset('EGAD2', ['EGAF2']);
  exports.grant('EGAD2', 'second');
  exports.request({ datasetId: 'EGAD1' }, { id: one });
  exports.request({ datasetId: 'EGAD2' }, { id: two, token: 'second' });
  await exports.deliverAll();
});
const run = (argv: string[], choices = {}) => runTool(['outbox', ...argv], world.target, choices);
const filesOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { fileId: string }).fileId);
const left = () => [...exports.outbox.objects.keys()].filter((key) => key.endsWith('.c4gh')).sort();
/** Put an object of this dataset and request under a key, also in the place of another one. */
async function hold(key: string, datasetId = 'EGAD1', requestId = one): Promise<void> {
  const facts = {
    requestId,
    datasetId,
    fileId: 'EGAF1',
    keyFingerprint: 'ab12',
    requestedAt: '2026-11-21T09:00:00.000Z',
  };
  await exports.outbox.put(key, Buffer.from('x'), outboxMetadataOf(facts), exports.outbox.objects.get(key)?.etag);
}

describe('outbox list', () => {
  test('shows a table of what a person has', async () => {
    const { stdout, exitCode } = await run(['list', '--subject', person]);
    expect(exitCode).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['KEY', 'DATASET', 'FILE', 'REQUEST', 'SIZE', 'SINCE'],
      [first, 'EGAD1', 'EGAF1', one, '224 B', '2026-11-21T10:00:00.000Z'],
      [second, 'EGAD2', 'EGAF2', two, '224 B', '2026-11-21T10:00:00.000Z'],
    ]);
  });

  test('of a dataset shows the short-lived containers of the direct API, too', async () => {
    await hold(direct);
    expect((await run(['list', '--dataset', 'EGAD1'])).stdout).toContain(direct);
    expect((await run(['list', '--subject', prefix])).stdout).not.toContain(direct);
  });

  test('shows no container that has come from another dataset, and one object once', async () => {
    exports.request({ datasetId: 'EGAD1' });
    await exports.deliverAll();
    expect(filesOf((await run(['list', '--json', '--dataset', 'EGAD1'])).stdout)).toEqual(['EGAF1']);
    await hold(first, 'EGAD2');
    expect((await run(['list', '--json', '--dataset', 'EGAD1'])).stdout).toBe('');
  });
});

describe('outbox purge', () => {
  const answering = (answer: string) => {
    const asked: string[] = [];
    const askShown = async (question: string) => {
      asked.push(question);
      return answer;
    };
    return { askShown, asked };
  };

  test('asks, deletes, writes an audit row, and sends the request on for its next receipt', async () => {
    const { askShown, asked } = answering('purge');
    const { exitCode, stdout } = await run(['purge', '--dataset', 'EGAD1'], { askShown });
    expect(exitCode).toBe(0);
    expect(asked).toEqual(['To delete 1 container (224 B) for good, type purge: ']);
    expect(stdout).toContain(first);
    expect(stdout).toContain('purged 1 container (224 B)');
    expect(left()).toEqual([second]);
    expect((await exports.audit()).at(-1)).toBe('purged EGAF1');
    expect(await exports.statesOf(one)).toEqual(['EGAF1: withdrawn']);
    expect(exports.queues.deliveries.map(({ body }) => body)).toEqual([JSON.stringify({ requestId: one })]);
    await exports.deliverAll();
    expect(await exports.requestRow(one)).toMatchObject({ state: 'withdrawn', revision: 2, settled_revision: 2 });
  });

  test.each([
    ['another word', answering('yes').askShown, 'not confirmed'],
    ['no word', answering('').askShown, 'not confirmed'],
    ['no terminal to ask on', undefined, 'add --yes'],
  ])('after %s deletes nothing', async (_what, askShown, message) => {
    const { exitCode, stderr } = await run(['purge', '--subject', prefix], askShown && { askShown });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain('nothing was deleted');
    expect(left()).toHaveLength(2);
    expect(await exports.statesOf(one)).toEqual(['EGAF1: staged']);
  });

  test('while requests of the person are open says so, and deletes nothing without --force', async () => {
    for (const _ of ['one', 'two']) exports.request();
    for (const _ of ['one', 'two']) await exports.consume();
    const refused = await run(['purge', '--subject', prefix, '--yes']);
    expect([refused.exitCode, refused.stdout]).toEqual([9, '']);
    expect(refused.stderr).toContain('2 open requests of this person can still stage containers; nothing was deleted');
    expect(left()).toHaveLength(2);
    const forced = await run(['purge', '--subject', prefix, '--yes', '--force']);
    expect(forced).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('purged 2 containers') });
    expect(left()).toEqual([]);
  });

  test('of a dataset deletes the short-lived containers of the direct API, too', async () => {
    const reply = '33333333-3333-4333-8333-333333333333';
    await hold(direct, 'EGAD1', reply);
    await run(['purge', '--dataset', 'EGAD1', '--yes']);
    expect(left()).toEqual([second]);
    const purged = "select request_id from data_out.export_log where event = 'purged' order by 1";
    expect(await exports.database.sql(purged)).toEqual([[one], [reply]]);
  });

  test('leaves a container that was replaced meanwhile, and says so', async () => {
    const askShown = async () => {
      await hold(first, 'EGAD1', two);
      return 'purge';
    };
    const { exitCode, stdout, stderr } = await run(['purge', '--request', one], { askShown });
    expect(exitCode).toBe(5);
    expect(left()).toContain(first);
    expect(stdout).toContain('purged 0 containers');
    expect(stderr).toContain('1 of 1 containers have changed');
    expect(await exports.statesOf(one)).toEqual(['EGAF1: staged']);
  });
});
