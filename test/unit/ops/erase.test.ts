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

  test('warns when nothing names the person, as after a mistake in the name', async () => {
    const warning =
      'warning: nothing names this person: check the issuer and the subject, unless the person was erased before';
    expect(await run(['--yes'])).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('nothing names') });
    expect(await run(['--yes'])).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(warning) });
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

describe('dead letters of the person', () => {
  const issuer = 'https://issuer.example.org/';
  const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
  const visa = token({ iss: issuer, sub: 'jane' });
  const passport = token({ iss: 'https://broker.example.org/', sub: 'J', ga4gh_passport_v1: [visa] });
  const file = (recipient: string, more = {}) => ({ requestId: erasable, fileId: 'EGAF1', recipient, ...more });
  const erasable = '11111111-1111-4111-8111-111111111111';
  const put = (queue: string, body: unknown) =>
    world.queues.put(`dead ${queue}`, typeof body === 'string' ? body : JSON.stringify(body));
  const left = (queue: string) => world.queues.of(`dead ${queue}`);
  const erase = (subject: string, choices = {}, argv = ['--yes']) =>
    runTool(['erase', '--subject', subject, ...argv], world.target, {
      now: () => new Date(world.clock.now),
      ...choices,
    });

  test.each([
    ['a visa', 'export-requests', { jwtToken: visa }, `${issuer},jane`],
    ['a visa in a passport', 'export-requests', { jwtToken: passport }, `${issuer},jane`],
    ['a passport', 'export-requests', { jwtToken: passport }, 'https://broker.example.org/,J'],
    ['the recipient of a file', 'file-exports', file(jane), jane],
    ['what a grant rests on', 'small-file-exports', file('c'.repeat(64), { dependsOn: [jane] }), jane],
  ])('that name the person by %s are deleted, and others stay', async (_, queue, body, subject) => {
    put(queue, body);
    const others = [
      put('export-requests', { jwtToken: token({ iss: issuer, sub: 'joe' }) }),
      put('file-exports', file('b'.repeat(64))),
      put('deliveries', { requestId: erasable }),
    ];
    const { exitCode, stdout, stderr } = await erase(subject);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`${queue} has 1 dead letter of this person`)]);
    expect(stdout).toContain('1 dead letter deleted');
    expect(stderr).not.toContain('cannot be read');
    const names = ['export-requests', 'file-exports', 'small-file-exports', 'deliveries'];
    expect(names.flatMap(left)).toEqual(others);
    expect(others.filter(({ hiddenUntil }) => hiddenUntil > world.clock.now)).toEqual([]);
    expect(names.flatMap((name) => world.queues.of(`work ${name}`))).toEqual([]);
  });

  test('stay without consent, and the question comes after what was found', async () => {
    put('file-exports', file(jane));
    expect(await erase(jane, {}, [])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/file-exports has 1 dead letter.*\n.*nothing was erased/),
    });
    expect(left('file-exports')).toHaveLength(1);
    expect(world.outbox.objects.size).toBe(2);
  });

  test.each([['{"jwtToken":'], [{ jwtToken: 'opaque' }], [{ jwtToken: token({ sub: 'jane' }) }]])(
    'that cannot be read stay, with a warning: %j',
    async (body) => {
      put('export-requests', body);
      expect(await erase(jane)).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining('1 dead letter cannot be read and might name this person'),
      });
      expect(left('export-requests')).toHaveLength(1);
    },
  );

  test('that another reader holds are left, and the command says so once the rest is erased', async () => {
    const hidden = put('file-exports', file(jane));
    hidden.hiddenUntil = world.clock.now + 60_000;
    expect(await erase(jane)).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('might be left in file-exports (met 0 of about 1)'),
    });
    expect(erased()).toEqual([`erase ${jane}`]);
    world.clock.now = hidden.hiddenUntil;
    expect((await erase(jane)).exitCode).toBe(0);
    expect(left('file-exports')).toEqual([]);
  });

  test('that cannot be looked at keep all as it is', async () => {
    world.queues.failures.set('ReceiveMessage', Object.assign(new Error('no'), { name: 'KmsDisabled' }));
    expect((await erase(jane)).exitCode).toBe(3);
    expect(erased()).toEqual([]);
    expect(world.outbox.objects.size).toBe(2);
  });
});
