import { expect, test } from 'vitest';
import { ExportPipeline } from '../helpers/export-pipeline.ts';

const MiB = 1024 * 1024;
const requestId = '11111111-1111-4111-8111-111111111111';
const large = Buffer.alloc(17 * MiB, 3);

/** Everything that an export does: two small files, a large one in four parts, one that is damaged, a retry and a withdrawal. */
async function story(world: ExportPipeline): Promise<void> {
  await world.addDataset('EGAD1', { EGAF1: Buffer.alloc(100, 1), EGAF2: Buffer.alloc(200, 2), EGAF3: large });
  await world.addFile('EGAD1', 'EGAF4', Buffer.alloc(300, 4));
  world.archive.delete('bodies/EGAF4');
  world.copySize = 5 * MiB;
  world.request({ datasetId: 'EGAD1' }, { id: requestId });
  await world.deliverAll();
  world.archive.set('bodies/EGAF4', Buffer.alloc(300, 4));
  await untilItEnds(() => world.retry(requestId));
  await world.deliverAll();
  await world.event('EGAD1', 'deprecated');
  await untilItEnds(() => world.withdraw());
  await world.deliverAll();
  // What a death left between a change and the message that tells of it.
  await untilItEnds(() => world.sweep());
  await world.deliverAll();

  async function untilItEnds(work: () => Promise<unknown>): Promise<void> {
    world.calls.revive();
    await work().catch(async () => {
      world.calls.revive();
      await work();
    });
    world.calls.revive();
  }
}

async function endOf(world: ExportPipeline) {
  const { state, reason, files, staged, receipt, ...request } = (await world.requestRow(requestId)) ?? {};
  return {
    ...{ state, reason, files, staged, receipt, isSettled: request.revision === request.settled_revision },
    files_: await world.statesOf(requestId),
    outbox: world.outboxNames(),
    receipts: world.outboxNames(true),
    uploads: [...world.outbox.uploads.values()].filter(({ parts }) => parts.size > 0).length,
    audit: [...(await world.audit())].sort(),
    deadLetters: world.deadLetters.length,
  };
}

async function run(at?: number, when: 'before' | 'after' = 'before') {
  const world = await ExportPipeline.open();
  const start = world.calls.names.length;
  if (at !== undefined) world.calls.crashAt(at, when);
  await story(world);
  return { end: await endOf(world), calls: world.calls.names.slice(start) };
}

// Some 105 databases are opened in turn.
test('an export ends the same wherever an invocation dies, before and after each call of AWS', {
  timeout: 600_000,
}, async () => {
  const { end, calls } = await run();
  expect(end).toMatchObject({ state: 'withdrawn', isSettled: true, outbox: [], uploads: 0, deadLetters: 0 });
  // What a death before a call leaves is what one after the call that went before it leaves.
  const deaths = [[0, 'before'] as const, ...calls.map((_, at) => [at, 'after'] as const)];
  const different: unknown[] = [];
  for (const [at, when] of deaths) {
    const other = await run(at, when);
    try {
      expect(other.end).toEqual(end);
    } catch (error) {
      different.push([calls[at], at, when, (error as Error).message]);
    }
  }
  expect(different).toEqual([]);
});
