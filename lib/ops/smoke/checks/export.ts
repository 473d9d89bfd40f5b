import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { type Check, poll } from '../check.ts';
import { expectThat } from '../steps.ts';

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
    const body = JSON.stringify({
      id: run.ids.datasetId,
      visaToken: run.visa,
      userPublicKey: formatPublicKey(run.recipient.publicKey),
    });
    const headers = { ...run.asAdministrator, 'content-type': 'application/json' };
    const wait = { seconds: administratorSeconds, signal: run.signal, what: 'the administrator is still refused' };
    run.requestId = await poll(async () => {
      const path = `export/${run.expected.archiveKind}`;
      const { status, text } = await run.ask('proxy', path, { headers, body }, 200, 401);
      // Functions read the secret of the administrators again within a minute.
      return status === 401 ? undefined : String(JSON.parse(text).requestId);
    }, wait);
    return `200, ${run.requestId} after ${Math.round((Date.now() - started) / 1000)} s`;
  },
};

const exported: Check = {
  id: 'exported',
  title: 'the export is complete',
  needs: ['export'],
  remedy: 'Find the reason with data-out-ops audit, and check the logs of ConsumeExport and StageFile.',
  async run(run) {
    const path = `export/${run.expected.archiveKind}/${run.requestId}`;
    const wait = { seconds: exportSeconds, signal: run.signal, what: 'the export has no end' };
    const { state, reason, bytes } = await poll(async () => {
      const { status, text } = await run.ask('proxy', path, { headers: run.asAdministrator }, 200, 404);
      if (status === 404) return undefined;
      const shown = JSON.parse(text);
      return shown.state === 'accepted' || shown.state === 'staging' ? undefined : shown;
    }, wait);
    expectThat(state === 'complete', `the export is ${state}${reason === null ? '' : ` (${reason})`}`);
    return `200, complete, ${bytes} bytes`;
  },
};

/** The export and its end; later checks use what it staged. */
export const exportChecks = [accepted, exported];
