import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';

/** Seconds until a rejection is in the audit trail. */
const rejectionSeconds = 90;
const hour = 3_600_000;

/** Exports that the proxy accepts and the data-out side rejects. They get no reply; the audit trail has the reason. */
export const rejected: Check = {
  id: 'rejected',
  title: 'exports without a right to the dataset are rejected, and stage nothing',
  needs: ['exported'],
  remedy: 'Check the log of ConsumeExport. If something was staged without a right, stop the exports and report it.',
  inSteps: true,
  async run(run) {
    const { ids, issueVisa, steps } = run;
    if (!issueVisa) throw new NotApplicable('only a test issuer signs the visas that must be rejected');
    const subject = `${ids.username}-other`;
    const visaFor = (datasetId: string, age = 0) => issueVisa(subject, datasetId, new Date(Date.now() - age));
    const attempts = [
      ['an unreleased dataset', ids.hiddenId, await visaFor(ids.hiddenId), 'not_released'],
      ["another dataset's visa", ids.datasetId, await visaFor(ids.hiddenId), 'not_entitled'],
      ['an expired visa', ids.datasetId, await visaFor(ids.datasetId, 2 * hour), 'visa_expired'],
    ] as const;
    for (const [title, id, visa, reason] of attempts) {
      await steps(`export with ${title}`, async () => {
        await expectRejection(run, { id, visa, reason });
        return `200, rejected: ${reason}`;
      });
    }
    await steps('list the outbox of those three', async () => {
      const outbox = run.researcher(await visaFor(ids.datasetId)).list({ signal: run.signal });
      const { length } = await Array.fromAsync(outbox);
      expectThat(length === 0, `${length} files were staged`);
      return 'empty, nothing was staged';
    });
    return `${attempts.map(([, , , reason]) => reason).join(', ')}; nothing was staged`;
  },
};

async function expectRejection(
  { administrator, recipient, target, expected, signal }: Run,
  { reason, ...request }: { readonly id: string; readonly visa: string; readonly reason: string },
): Promise<void> {
  const publicKey = formatPublicKey(recipient.publicKey);
  const order = { ...request, type: 'datasetId', kind: expected.archiveKind, publicKey } as const;
  const { requestId } = await administrator().export(order, { signal });
  const newest = async () => (await Array.fromAsync(target.audit.newest({ requestId }, 1)))[0];
  const row = await poll(newest, { seconds: rejectionSeconds, signal, what: 'the audit trail has no row of it' });
  expectThat(row.event === 'rejected', `the audit trail says "${row.event}", not "rejected"`);
  expectThat(row.reason === reason, `the reason is "${row.reason}", not "${reason}"`);
}
