import { beforeEach, describe, expect, test } from 'vitest';
import { outboxMetadataOf } from '../../../lib/contract/outbox-key.ts';
import { ExportPipeline } from '../../helpers/export-pipeline.ts';
import { makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

const request = '11111111-1111-4111-8111-111111111111';
const other = '22222222-2222-4222-8222-222222222222';
const rejected = '33333333-3333-4333-8333-333333333333';
/** SHA-256 over `22:https://issuer.exampleresearcher`, by sha256sum. */
const person = '24e3da32437ef884922293b4c319107459c35ba3963b65a66bbd4a9286e84cf6';

let exports: ExportPipeline;
let world: OpsWorld;
/** A person with a receipt, whose container has expired, and a request that was rejected before its visa was verified; and another one. */
beforeEach(async () => {
  exports = await ExportPipeline.open();
  world = await makeOpsWorld(exports);
  await exports.addDataset('EGAD1', ['EGAF1']);
  exports.grant('EGAD1', 'visa', { dependsOn: ['ab'.repeat(32)] });
  exports.grant('EGAD1', 'other', {
    subject: { iss: 'https://issuer.example', sub: 'other' },
    dependsOn: ['cd'.repeat(32)],
  });
  exports.request(undefined, { id: request });
  exports.request(undefined, { id: other, token: 'other' });
  await exports.deliverAll();
  exports.request(undefined, { id: rejected, token: 'malformed' });
  await exports.deliverAll();
  for (const key of exports.outbox.objects.keys()) if (key.endsWith('.c4gh')) exports.outbox.objects.delete(key);
});
const run = (argv: string[], choices = {}) => runTool(['erase', '--subject', person, ...argv], world.target, choices);
const isErased = async () => (await exports.requestRow(request))?.recipient === null;

describe('erase', () => {
  test("deletes the person's receipts alone, and takes the person out of the rows, also of a rejected request", async () => {
    // The key pair is everybody's here: of the other person's row, only the fingerprint tells of it.
    await exports.database.sql(`update data_out.requests set key_fingerprint = 'other' where request_id = '${other}'`);
    const before = await exports.requestRow(other);
    expect((await run(['--yes'])).exitCode).toBe(0);
    expect(exports.outboxNames(true)).toEqual([`EGAD1-${other}.delivery.jws`]);
    const erased = { recipient: null, key_fingerprint: null, public_key: null };
    expect(await exports.requestRow(request)).toMatchObject({ ...erased, state: 'complete', depends_on: null });
    expect(await exports.requestRow(rejected)).toMatchObject({ ...erased, reason: 'visa_malformed_token' });
    expect(await exports.fileRow(request, 'EGAF1')).toMatchObject({ state: 'staged', bytes: 224, outbox_key: null });
    expect((await exports.audit()).at(-1)).toBe('erased');
    expect(await exports.requestRow(other)).toEqual(before);
  });

  test('warns when nothing names the person, as after a mistake in the name', async () => {
    const warning =
      'warning: nothing names this person: check the issuer and the subject, unless the person was erased before';
    expect(await run(['--yes'])).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('nothing names') });
    expect(await run(['--yes'])).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(warning) });
  });

  test('refuses while the outbox has containers', async () => {
    const facts = {
      requestId: request,
      datasetId: 'EGAD1',
      fileId: 'EGAF1',
      keyFingerprint: 'ab',
      requestedAt: '2026-11-21T09:00:00.000Z',
    };
    await exports.outbox.put(`${person}/EGAF1-a.bam.c4gh`, Buffer.from('x'), outboxMetadataOf(facts));
    expect(await run(['--yes'])).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('1 container of') });
    expect(await isErased()).toBe(false);
    expect(exports.outbox.objects.size).toBe(3);
  });

  test('after a denial and a purge, says that receipts are still being written, and succeeds when they are', async () => {
    const subject = ['--subject', 'https://issuer.example,researcher'];
    exports.request();
    await exports.deliverAll();
    await runTool(['visa', 'deny', '--issuer', 'https://issuer.example', '--subject', 'researcher'], world.target);
    expect((await runTool(['outbox', 'purge', ...subject, '--yes'], world.target)).exitCode).toBe(0);
    const refused = await run(['--yes']);
    expect(refused).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining('Repeat the command in a few minutes'),
    });
    expect(refused.stderr).toContain('is still writing the receipts of 2 requests of this person');
    expect(refused.stderr).not.toContain('eny the visa');
    // The purge that comes again has nothing to say of open requests either.
    expect((await runTool(['outbox', 'purge', ...subject, '--yes'], world.target)).exitCode).toBe(0);
    expect(await isErased()).toBe(false);
    await exports.deliverAll();
    expect((await run(['--yes'])).exitCode).toBe(0);
    expect(await isErased()).toBe(true);
  });

  test.each([
    ['without a terminal', {}],
    ['with another answer', { askShown: async () => 'yes' }],
  ])('erases nothing %s', async (_case, choices) => {
    expect((await run([], choices)).exitCode).toBe(2);
    expect(await isErased()).toBe(false);
    expect((await run([], { askShown: async () => 'erase' })).exitCode).toBe(0);
    expect(await isErased()).toBe(true);
  });
});
