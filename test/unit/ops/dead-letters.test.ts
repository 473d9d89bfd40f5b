import { beforeEach, describe, expect, test } from 'vitest';
import { runOps } from '../../../lib/ops/program.ts';
import type { FakeMessage } from '../../helpers/fake-queues.ts';
import { makeOpsWorld, makeTerminal, type OpsWorld } from '../../helpers/ops-world.ts';

const one = '11111111-1111-4111-8111-111111111111';
const two = '22222222-2222-4222-8222-222222222222';
const messageId = '33333333-3333-4333-8333-333333333333';
const visa = 'eyJhbGciOiJFUzI1NiJ9.c2VjcmV0LXZpc2E.c2lnbmF0dXJl';
const key = 'VGhpcyBpcyBhIHB1YmxpYyBrZXkgb2YgMzIgYnl0ZXM=';
/** Two hours before the terminal's clock. */
const sentAt = Date.parse('2026-11-21T08:00:00.000Z');

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
});

const run = (argv: string[], choices = {}) => {
  const { terminal, said } = makeTerminal({ now: () => new Date(world.clock.now), ...choices });
  const ended = runOps(['dead-letters', ...argv], terminal, async () => world.target);
  return ended.then((exitCode) => ({ exitCode, ...said }));
};
const recordsOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

function putRequest(requestId = one, more = {}) {
  return world.queues.put(
    'dead export-requests',
    JSON.stringify({ jwtToken: visa, publicKey: key, datasetId: 'EGAD1' }),
    {
      sentAt,
      attributes: {
        requestId: { DataType: 'String', StringValue: requestId },
        requestedAt: { DataType: 'String', StringValue: '2026-11-21T07:59:59.000Z' },
        archiveKind: { DataType: 'String', StringValue: 'fega' },
      },
      ...more,
    },
  );
}

type FileChoices = Partial<FakeMessage> & { readonly requestId?: string; readonly queue?: string };

function putFile(fileId: string, { requestId = one, queue = 'file-exports', ...more }: FileChoices = {}) {
  const recipient = '04fb769be9ba4d4b83807c30800096f6b8f5f14a1d81fa1185d71629c69a21c6';
  const requestedAt = '2026-11-21T07:59:59.000Z';
  const body = { requestId, requestedAt, fileId, datasetId: 'EGAD1', recipient, publicKey: key };
  return world.queues.put(`dead ${queue}`, JSON.stringify(body), { sentAt, group: recipient, ...more });
}

describe('dead-letters list', () => {
  test('shows queue, message, age, receives, request, what was asked for, and the last failure', async () => {
    putRequest(one, { messageId, receives: 5 });
    putFile('EGAF1', { requestId: two, queue: 'small-file-exports' });
    world.queues.put('dead deliveries', JSON.stringify({ requestId: two }), { sentAt });
    world.reasons.set(`${one} `, 'temporarily_unavailable').set(`${two} EGAF1`, 'archive_damaged');
    const { exitCode, stdout, stderr } = await run(['list', '--json']);
    expect([exitCode, stderr]).toEqual([0, 'target: a deployment in memory\n']);
    const common = { sentAt: '2026-11-21T08:00:00.000Z', ageSeconds: 7200, messageId: expect.any(String) };
    expect(recordsOf(stdout)).toEqual([
      {
        ...common,
        queue: 'export-requests',
        messageId,
        receives: 6,
        requestId: one,
        datasetId: 'EGAD1',
        fileId: null,
        lastFailure: 'temporarily_unavailable',
      },
      {
        ...common,
        queue: 'small-file-exports',
        receives: 1,
        requestId: two,
        datasetId: 'EGAD1',
        fileId: 'EGAF1',
        lastFailure: 'archive_damaged',
      },
      { ...common, queue: 'deliveries', receives: 1, requestId: two, datasetId: null, fileId: null, lastFailure: null },
    ]);
    const table = (await run(['list'])).stdout.trimEnd().split('\n');
    expect(table[0]?.split(/ {2,}/)).toEqual([
      'QUEUE',
      'MESSAGE',
      'AGE',
      'RECEIVES',
      'REQUEST',
      'DATASET',
      'FILE',
      'LAST FAILURE',
    ]);
    const cells = ['export-requests', messageId, '2 h 00 min', '7', one, 'EGAD1', 'temporarily_unavailable'];
    expect(table[1]?.split(/ {2,}/)).toEqual(cells);
  });

  test.each([[['list']], [['list', '--json']], [['show', messageId]], [['show', messageId, '--json']]])(
    '%j never shows a visa or a key',
    async (argv) => {
      putRequest(one, { messageId });
      const broken = world.queues.put('dead export-requests', `{"jwtToken":"${visa}","datasetId":`, { sentAt });
      const { exitCode, stdout, stderr } = await run(argv);
      expect(exitCode).toBe(0);
      for (const secret of [...visa.split('.'), key]) expect(stdout + stderr).not.toContain(secret);
      if (argv[0] === 'list') expect(stdout).toContain(broken.messageId);
    },
  );

  test.each([
    [
      ['--queue', 'file-exports'],
      ['EGAF1', 'EGAF2'],
    ],
    [
      ['--request', two.toUpperCase()],
      ['EGAF2', 'EGAF3'],
    ],
    [['--queue', 'file-exports', '--request', two], ['EGAF2']],
  ])('%j', async (filter, files) => {
    putFile('EGAF1');
    putFile('EGAF2', { requestId: two });
    putFile('EGAF3', { requestId: two, queue: 'small-file-exports' });
    const { stdout } = await run(['list', '--json', ...filter]);
    expect(recordsOf(stdout).map(({ fileId }) => fileId)).toEqual(files);
  });

  test('hides no message longer than it looks', async () => {
    for (let i = 0; i < 25; i += 1) putFile(`EGAF${i}`);
    const hidden: number[] = [];
    world.queues.onCall = () => hidden.push(world.queues.of('dead file-exports').filter(isHidden).length);
    expect(recordsOf((await run(['list', '--json'])).stdout)).toHaveLength(25);
    expect(Math.max(...hidden)).toBe(25);
    expect(world.queues.of('dead file-exports').filter(isHidden)).toEqual([]);
  });

  test('releases what it took when a call fails, and when it is interrupted', async () => {
    for (let i = 0; i < 25; i += 1) putFile(`EGAF${i}`);
    let calls = 0;
    world.queues.onCall = (name) => {
      calls += name === 'ReceiveMessage' ? 1 : 0;
      if (name === 'ReceiveMessage' && calls === 2) throw Object.assign(new Error('gone'), { name: 'TimeoutError' });
    };
    expect((await run(['list', '--queue', 'file-exports'])).exitCode).toBe(7);
    expect(world.queues.of('dead file-exports').filter(isHidden)).toEqual([]);
    const interruption = new AbortController();
    world.queues.onCall = (name) => name === 'ReceiveMessage' && interruption.abort();
    await run(['list', '--queue', 'file-exports'], { signal: interruption.signal });
    expect(world.queues.of('dead file-exports').filter(isHidden)).toEqual([]);
  });

  test('says when another reader holds messages', async () => {
    putFile('EGAF1');
    putFile('EGAF2', { hiddenUntil: world.clock.now + 60_000 });
    const { exitCode, stdout, stderr } = await run(['list', '--json']);
    expect([exitCode, recordsOf(stdout).length]).toEqual([0, 1]);
    expect(stderr).toContain('warning: file-exports: met 1 of about 2 messages');
  });

  test('ends before it would meet the first messages again, and says so', async () => {
    for (let i = 0; i < 100; i += 1) putFile(`EGAF${i}`);
    world.queues.onCall = (name) => {
      if (name === 'ReceiveMessage') world.clock.now += 20_000;
    };
    const { stdout, stderr } = await run(['list', '--json', '--queue', 'file-exports']);
    const ids = recordsOf(stdout).map(({ messageId: id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([50, 50]);
    expect(stderr).toContain('met 50 of about 100 messages');
  });

  test('without dead letters says so', async () => {
    const { exitCode, stdout, stderr } = await run(['list']);
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(stderr).toContain('no dead letter was found');
  });

  test('continues without the database', async () => {
    putFile('EGAF1');
    world.failures.set('failures', { error: new Error('the cluster sleeps') });
    const { exitCode, stdout, stderr } = await run(['list']);
    expect([exitCode, stdout.includes('EGAF1')]).toEqual([0, true]);
    expect(stderr).toContain('the database did not answer, so the failures are not shown');
  });

  test.each([
    ['KmsDisabled', 3, /SQS cannot use the customer key of export-requests \(KmsDisabled\): enable the key/],
    ['AccessDenied', 3, /AWS refused the credentials: AccessDenied/],
    ['RequestThrottled', 7, /SQS is temporarily unavailable/],
  ])('%s', async (name, code, text) => {
    world.queues.failures.set('ReceiveMessage', Object.assign(new Error(name), { name }));
    const { exitCode, stderr } = await run(['list', '--queue', 'export-requests']);
    expect([exitCode, stderr]).toEqual([code, expect.stringMatching(text)]);
  });

  test.each([
    [
      ['list', '--queue', 'others'],
      /Allowed choices are export-requests, file-exports, small-file-exports, deliveries/,
    ],
    [['list', '--request', 'x'], /--request: expected a UUID, as it stands in the answer of POST \/export/],
    [['show', 'x'], /<message-id>: expected a UUID, as it stands in the table/],
    [['replay'], /expected one of --queue, --request and --message/],
  ])('%j is refused', async (argv, text) => {
    const { exitCode, stderr } = await run(argv);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(text)]);
  });
});

describe('dead-letters show', () => {
  test('has one field a line', async () => {
    putFile('EGAF1', { messageId });
    world.reasons.set(`${one} EGAF1`, 'no_progress');
    const { stdout } = await run(['show', messageId]);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['QUEUE', 'file-exports'],
      ['MESSAGE', messageId],
      ['AGE', '2 h 00 min'],
      ['RECEIVES', '1'],
      ['REQUEST', one],
      ['DATASET', 'EGAD1'],
      ['FILE', 'EGAF1'],
      ['LAST FAILURE', 'no_progress'],
      ['SENT', '2026-11-21T08:00:00.000Z'],
    ]);
  });

  test('an unknown message is not found; one that another reader holds may be there', async () => {
    expect(await run(['show', messageId])).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('data-out-ops dead-letters list shows the messages'),
    });
    putFile('EGAF1', { hiddenUntil: world.clock.now + 60_000 });
    expect((await run(['show', messageId])).stderr).toContain('another reader holds some messages');
  });
});

describe('dead-letters replay', () => {
  test('sends each message as it was, then deletes it; the others stay visible', async () => {
    const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793';
    const sent = putRequest(one, { messageId, trace });
    const other = putRequest(two);
    const file = putFile('EGAF1');
    const { exitCode, stderr } = await run(['replay', '--request', one, '--yes']);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('replayed 2 messages')]);
    const [request] = world.queues.of('work export-requests');
    expect(request).toMatchObject({ body: sent.body, attributes: sent.attributes, group: undefined, trace });
    expect(world.queues.of('work file-exports')).toMatchObject([
      { body: file.body, group: file.group, trace: undefined },
    ]);
    expect(world.queues.of('dead export-requests')).toEqual([other]);
    expect(isHidden(other)).toBe(false);
    expect(stderr).not.toContain(visa);
  });

  test('marks a request as open before the first message goes', async () => {
    putFile('EGAF1');
    const marked: number[] = [];
    world.queues.onCall = (name) => {
      if (name === 'SendMessage') marked.push(world.outbox.marked);
    };
    expect((await run(['replay', '--queue', 'file-exports', '--yes'])).exitCode).toBe(0);
    expect(marked).toEqual([1]);
  });

  test('of a queue sends all, however long it takes', async () => {
    for (let i = 0; i < 60; i += 1) putFile(`EGAF${i}`);
    world.queues.onCall = (name) => {
      if (name === 'ReceiveMessage') world.clock.now += 60_000;
    };
    const { exitCode, stdout } = await run(['replay', '--queue', 'file-exports', '--yes', '--json']);
    expect([exitCode, recordsOf(stdout).length]).toEqual([0, 60]);
    expect(world.queues.of('dead file-exports')).toEqual([]);
    expect(world.queues.of('work file-exports')).toHaveLength(60);
  });

  test('ends when messages fail again at once, and says so', async () => {
    for (let i = 0; i < 25; i += 1) putFile(`EGAF${i}`);
    // What is sent fails before the next message is received, and keeps its id.
    world.queues.onCall = (name) => {
      if (name !== 'ReceiveMessage') return;
      for (const { body, ...more } of world.queues.drain('work file-exports')) {
        world.queues.put('dead file-exports', body, more);
      }
    };
    const { exitCode, stdout, stderr } = await run(['replay', '--queue', 'file-exports', '--yes', '--json']);
    expect(recordsOf(stdout)).toHaveLength(25);
    expect([exitCode, stderr]).toEqual([5, expect.stringContaining('25 messages failed again at once: fix the cause')]);
    expect(world.queues.of('dead file-exports').filter(isHidden)).toEqual([]);
    expect(world.queues.of('dead file-exports')).toHaveLength(25);
  });

  test('shows 20 messages at most before it asks', async () => {
    for (let i = 0; i < 25; i += 1) putFile(`EGAF${i}`);
    const { stdout, stderr } = await run(['replay', '--queue', 'file-exports'], { askShown: async () => 'replay' });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 20);
    expect(stderr).toContain('and 5 more: data-out-ops dead-letters list shows all');
    expect(stderr).toContain('replayed 25 messages');
  });

  test('shows what it will send, and asks', async () => {
    putFile('EGAF1');
    const asked: string[] = [];
    const answer = (text: string) => ({
      askShown: async (question: string) => {
        asked.push(question);
        return text;
      },
    });
    const refused = await run(['replay', '--queue', 'file-exports'], answer('no'));
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('not confirmed; nothing was replayed'),
    });
    expect(refused.stdout).toContain('EGAF1');
    expect(world.queues.of('work file-exports')).toEqual([]);
    expect(await run(['replay', '--queue', 'file-exports'], answer('replay'))).toMatchObject({ exitCode: 0 });
    expect(asked).toEqual(['To replay 1 message, type replay: ', 'To replay 1 message, type replay: ']);
    expect(world.queues.of('work file-exports')).toHaveLength(1);
  });

  test('without a terminal asks for --yes', async () => {
    putFile('EGAF1');
    const { exitCode, stderr } = await run(['replay', '--queue', 'file-exports']);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('no terminal to ask on: add --yes')]);
    expect(world.queues.of('dead file-exports').filter(isHidden)).toEqual([]);
  });

  test.each([[['--yes']], [[]]])('%j: an empty queue is not an error, an unknown message is', async (yes) => {
    expect(await run(['replay', '--queue', 'deliveries', ...yes])).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('no dead letter was found'),
    });
    expect((await run(['replay', '--message', messageId, ...yes])).exitCode).toBe(4);
  });

  test('a message whose deletion failed stays, and a second replay sends it again', async () => {
    putFile('EGAF1');
    world.queues.failures.set('DeleteMessage', Object.assign(new Error('slow'), { name: 'TimeoutError' }));
    const argv = ['replay', '--queue', 'file-exports', '--yes'];
    expect((await run(argv)).exitCode).toBe(7);
    expect(world.queues.of('dead file-exports').filter(isHidden)).toEqual([]);
    world.queues.failures.clear();
    expect((await run(argv)).exitCode).toBe(0);
    expect(world.queues.of('work file-exports')).toHaveLength(2);
  });

  test('says when another reader holds messages of the queue', async () => {
    putFile('EGAF1');
    putFile('EGAF2', { hiddenUntil: world.clock.now + 60_000 });
    const { exitCode, stderr } = await run(['replay', '--queue', 'file-exports', '--yes']);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('messages might be left in file-exports (met 1 of about 2)');
  });
});

const isHidden = ({ hiddenUntil }: { hiddenUntil: number }) => hiddenUntil > world.clock.now;
