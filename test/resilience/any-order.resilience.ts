import { expect, test } from 'vitest';
import { outboxMetadata } from '../../lib/contract/outbox-key.ts';
import { Seeded } from '../fuzz/seeded.ts';
import { ExportPipeline, hoursFromNow } from '../helpers/export-pipeline.ts';
import { runs } from '../helpers/runs.ts';

type QueueName = keyof ExportPipeline['queues'];

const MiB = 1024 * 1024;
const older = '11111111-1111-4111-8111-111111111111';
const newer = '22222222-2222-4222-8222-222222222222';
const other = '33333333-3333-4333-8333-333333333333';
const large = Buffer.alloc(11 * MiB, 3);

/** Two requests of one recipient for the same files, of which one is damaged and one is large, and a request of another recipient. */
async function ask(): Promise<ExportPipeline> {
  const world = await ExportPipeline.open();
  const small = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`EGAF${n + 10}`, Buffer.alloc(100 + n, n)]));
  await world.addDataset('EGAD1', { ...small, EGAF30: large, EGAF31: Buffer.alloc(9) });
  world.archive.delete('bodies/EGAF31');
  world.copySize = 5 * MiB;
  world.grant('EGAD1', 'other', { subject: { iss: 'https://issuer.example', sub: 'other' } });
  world.request(undefined, { id: older, at: hoursFromNow(-2) });
  world.request(undefined, { id: newer, at: hoursFromNow(-1) });
  world.request({ fileId: 'EGAF30' }, { id: other, token: 'other' });
  return world;
}

/** What is left. Whether the older request's container came before the newer one's is up to the order. */
async function endOf(world: ExportPipeline) {
  const states = (id: string) =>
    world.statesOf(id).then((rows) => rows.map((row) => row?.replace(/staged|superseded/, 'in the outbox')));
  const request = async (id: string) => {
    const { state, revision, settled_revision: settled } = (await world.requestRow(id)) ?? {};
    return { state, isSettled: revision === settled, files: await states(id) };
  };
  const objects = [...world.outbox.objects].map(([key, { metadata, bytes }]) => {
    const isContainer = key.endsWith('.c4gh');
    return `${key} ${metadata[outboxMetadata.requestId]} ${isContainer ? bytes.length : ''}`;
  });
  return {
    requests: await Promise.all([older, newer, other].map(request)),
    objects: objects.sort(),
    uploads: [...world.outbox.uploads.values()].filter(({ parts }) => parts.size > 0).length,
    deadLetters: world.deadLetters.length,
    audit: [...(await world.audit())].filter((row) => !row.startsWith('staged')).sort(),
  };
}

const inOrder = ask().then(async (world) => {
  await world.deliverAll();
  return await endOf(world);
});

const seeds = Array.from({ length: runs(32) }, (_, seed) => seed);

/** Take the next messages of any queue. @returns the queue, with them at its front */
function shuffled(world: ExportPipeline, random: Seeded, names: readonly QueueName[]): QueueName | undefined {
  const queue = names[random.below(names.length)];
  const messages = queue && world.queues[queue];
  for (let at = (messages?.length ?? 0) - 1; messages && at > 0; at -= 1) {
    const from = random.below(at + 1);
    [messages[at], messages[from]] = [messages[from]!, messages[at]!];
  }
  return queue;
}

test('an undisturbed export delivers all but the damaged file', async () => {
  expect(await inOrder).toMatchObject({ uploads: 0, deadLetters: 0 });
  expect((await inOrder).requests.map(({ state, isSettled }) => [state, isSettled])).toEqual([
    ['incomplete', true],
    ['incomplete', true],
    ['complete', true],
  ]);
});

test.each(seeds)('messages that come in any order lead to the same end: seed %i', async (seed) => {
  const random = new Seeded(`order ${seed}`);
  const expected = await inOrder;
  const world = await ask();
  await world.deliverAll((names) => (names.length > 0 ? shuffled(world, random, names) : undefined));
  expect(await endOf(world)).toEqual(expected);
});

test.each(seeds)('messages that come twice at once, in any order, lead to the same end: seed %i', async (seed) => {
  const random = new Seeded(`twice ${seed}`);
  const expected = await inOrder;
  const world = await ask();
  for (;;) {
    const names = (Object.keys(world.queues) as QueueName[]).filter((name) => world.queues[name].length > 0);
    const queue = names.length > 0 ? shuffled(world, random, names) : undefined;
    if (queue === undefined) break;
    const messages = world.queues[queue];
    const batch = messages.splice(0, queue === 'smallFileExports' ? 10 : 1);
    const rest = messages.splice(0);
    // An invocation takes its messages at once, so that each of the two has all of them.
    const both = [batch, batch.map((message) => ({ ...message }))].map((some) => {
      messages.push(...some);
      return world.deliver(queue).catch(() => undefined);
    });
    messages.push(...rest);
    await Promise.all(both);
  }
  expect(await endOf(world)).toEqual(expected);
});
