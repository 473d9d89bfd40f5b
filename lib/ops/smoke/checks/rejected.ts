import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import { expectThat } from '../expect-that.ts';

/** Seconds until a rejection is in the audit trail. */
const rejectionSeconds = 90;
const hour = 3_600_000;

/** Exports that the proxy accepts and the data-out side rejects. They get no reply; the audit trail has the reason. */
export const rejected: Check = {
  id: 'rejected',
  title: 'exports without a right to the dataset are rejected, and stage nothing',
  needs: ['exported'],
  remedy: 'Check the log of ConsumeExport. If something was staged without a right, stop the exports and report it.',
  async run(run) {
    const { ids, issueVisa, expected, target, signal } = run;
    if (!issueVisa) throw new NotApplicable('only a test issuer signs the visas that must be rejected');
    const visaFor = (datasetId: string, age = 0) =>
      issueVisa(`${ids.username}-other`, datasetId, new Date(Date.now() - age));
    const order = { kind: expected.archiveKind, publicKey: formatPublicKey(run.recipient.publicKey) };
    const attempts = [
      ['not_released', ids.hiddenId, await visaFor(ids.hiddenId)],
      ['not_entitled', ids.datasetId, await visaFor(ids.hiddenId)],
      ['visa_expired', ids.datasetId, await visaFor(ids.datasetId, 2 * hour)],
    ] as const;
    for (const [reason, id, visa] of attempts) {
      const { requestId } = await run.administrator().export({ ...order, type: 'datasetId', id, visa }, { signal });
      const newest = async () => (await Array.fromAsync(target.audit.newest({ requestId }, 1)))[0];
      const row = await poll(run, rejectionSeconds, `the audit trail has no row of ${reason}`, newest);
      const found = `"${row.event}" because of "${row.reason}"`;
      expectThat(found === `"rejected" because of "${reason}"`, `the audit trail says ${found}, not ${reason}`);
    }
    const staged = await Array.fromAsync(run.researcher(await visaFor(ids.datasetId)).list({ signal }));
    expectThat(staged.length === 0, `${staged.length} files were staged`);
    return `${attempts.map(([reason]) => reason).join(', ')}; none was staged`;
  },
};
