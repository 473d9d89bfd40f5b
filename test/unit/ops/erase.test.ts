import { beforeEach, describe, expect, test } from 'vitest';
import { makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

const jane = 'a'.repeat(64);
let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
  world.outbox.hold(`${jane}/EGAD1-1.delivery.jws`);
  world.outbox.hold(`${'b'.repeat(64)}/EGAD1-1.delivery.jws`);
});
const run = (argv: string[], choices = {}) => runTool(['erase', '--subject', jane, ...argv], world.target, choices);
const erased = () => world.calls.filter((call) => call.startsWith('erase'));

describe('erase', () => {
  test("deletes the person's receipts and takes the person out of the rows", async () => {
    expect((await run(['--yes'])).exitCode).toBe(0);
    expect([...world.outbox.objects.keys()]).toEqual([`${'b'.repeat(64)}/EGAD1-1.delivery.jws`]);
    expect(erased()).toEqual([`erase ${jane}`]);
  });

  test('refuses while the outbox has containers', async () => {
    world.outbox.hold(`${jane}/EGAF1-a.bam.c4gh`);
    const refused = await run(['--yes']);
    expect(refused).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('1 container of') });
    expect(erased()).toEqual([]);
    expect(world.outbox.objects.size).toBe(3);
  });

  test('refuses while requests are not closed', async () => {
    world.open.requests = 2;
    expect(await run(['--yes'])).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('2 open requests') });
    expect(erased()).toEqual([]);
  });

  test.each([
    ['without a terminal', {}],
    ['with another answer', { askShown: async () => 'yes' }],
  ])('erases nothing %s', async (_case, choices) => {
    expect((await run([], choices)).exitCode).toBe(2);
    expect(erased()).toEqual([]);
    expect((await run([], { askShown: async () => 'erase' })).exitCode).toBe(0);
  });
});
