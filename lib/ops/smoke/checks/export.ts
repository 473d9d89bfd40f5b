import { type Check, expectThat, NotApplicable, poll } from '../check.ts';

/**
 * One cause has one line: the checks that use the visa need this one. It asks the authorizer of the outbox, which every deployment
 * has, and which looks for the user in the database once the visa is verified. A cluster that sleeps answers the first with 503.
 */
export const visa: Check = {
  id: 'visa',
  title: 'the database wakes up, and the deployment takes the visa of this run',
  remedy:
    'If the visa is refused, check that its issuer, with its key, is in private/trusted-issuers.json, and deployed. Otherwise check the alarm and the log of AuthorizeOutbox. A cluster resumes in some 15 s; minCapacity 0.5 keeps it awake.',
  async run(run) {
    const started = performance.now();
    const request = { method: 'GET', path: 'files?inbox=false&per_page=1', headers: run.asResearcher };
    let refused = 0;
    await poll(run, 120, 'the database does not wake up', async () => {
      const { status, headers, text } = await run.send('delivery', request);
      // A deployment gets the user later.
      if (status === 200 || (status === 401 && text.includes('user name or password'))) return true;
      refused += 1;
      expectThat(status === 503, /"detail":"([^"]+)"/.exec(text)?.[1] ?? `${status}, expected 200, 401 or 503`);
      expectThat(/^\d+$/.test(headers['retry-after'] ?? ''), '503 without Retry-After');
      return undefined;
    });
    return `after ${((performance.now() - started) / 1000).toFixed(1)} s, ${refused} times 503`;
  },
};

/** Seconds that an export may take: a paused cluster and cold functions are a part of it. */
const exportSeconds = 180;
/** Seconds until a new administrator is known to all functions. */
const administratorSeconds = 90;

const accepted: Check = {
  id: 'export',
  title: 'an export of the dataset is accepted',
  needs: ['archive', 'users', 'visa'],
  remedy:
    'A 401 for minutes: check whether the function reads the secret of the output AdminSecretArn. A 404: was archiveKind in private/settings.ts deployed? Otherwise see the log of the function Export.',
  async run(run) {
    const started = Date.now();
    run.requestId = await poll(run, administratorSeconds, 'the administrator is still refused', async () => {
      const { status, text } = await run.export(run.ids.datasetId, run.visa, 200, 401);
      // Functions read the secret of the administrators again within a minute.
      return status === 401 ? undefined : String(JSON.parse(text).requestId);
    });
    return `${run.requestId} after ${Math.round((Date.now() - started) / 1000)} s`;
  },
};

const exported: Check = {
  id: 'exported',
  title: 'the export is complete',
  needs: ['export'],
  remedy: 'Find the reason with data-out-ops audit, and check the logs of ConsumeExport and StageFile.',
  async run(run) {
    const path = `export/${run.expected.archiveKind}/${run.requestId}`;
    const { state, reason, bytes } = await poll(run, exportSeconds, 'the export has no end', async () => {
      const { status, text } = await run.ask('delivery', path, { headers: run.asAdministrator }, 200, 404);
      const shown = status === 404 ? { state: 'accepted' } : JSON.parse(text);
      return ['accepted', 'staging'].includes(shown.state) ? undefined : shown;
    });
    expectThat(state === 'complete', `the export is ${state}${reason === null ? '' : ` (${reason})`}`);
    return `complete, ${bytes} bytes`;
  },
};

/** Seconds until a rejection is in the audit trail. */
const rejectionSeconds = 90;
const hour = 3_600_000;

/** Exports that the delivery API accepts and `ConsumeExport` rejects. They get no reply; the audit trail has the reason. */
export const rejected: Check = {
  id: 'rejected',
  title: 'exports without a right to the dataset are rejected, and stage nothing',
  needs: ['exported'],
  remedy: 'Check the log of ConsumeExport. If something was staged without a right, stop the exports and report it.',
  async run(run) {
    const { ids, issueVisa, target, signal } = run;
    if (!issueVisa) throw new NotApplicable('only a test issuer signs the visas that must be rejected');
    const visaFor = (datasetId: string, age = 0) =>
      issueVisa(`${ids.username}-other`, datasetId, new Date(Date.now() - age));
    const attempts = [
      ['not_released', ids.hiddenId, await visaFor(ids.hiddenId)],
      ['not_entitled', ids.datasetId, await visaFor(ids.hiddenId)],
      ['visa_expired', ids.datasetId, await visaFor(ids.datasetId, 2 * hour)],
    ] as const;
    for (const [reason, id, visa] of attempts) {
      const { requestId } = JSON.parse((await run.export(id, visa, 200)).text);
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

/** The export and its end; later checks use what it staged. */
export const exportChecks = [accepted, exported];
