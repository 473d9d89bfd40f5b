import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { type Check, poll } from '../check.ts';
import { expectThat } from '../expect-that.ts';

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
    const userPublicKey = formatPublicKey(run.recipient.publicKey);
    const body = JSON.stringify({ id: run.ids.datasetId, visaToken: run.visa, userPublicKey });
    const headers = { ...run.asAdministrator, 'content-type': 'application/json' };
    run.requestId = await poll(run, administratorSeconds, 'the administrator is still refused', async () => {
      const path = `export/${run.expected.archiveKind}`;
      const { status, text } = await run.ask('delivery', path, { headers, body }, 200, 401);
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

/** The export and its end; later checks use what it staged. */
export const exportChecks = [accepted, exported];
