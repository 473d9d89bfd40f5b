import { ClientError, interrupted } from '../../client/errors.ts';
import type { ProxyApi } from '../../client/proxy.ts';
import { isUnderWay, type ShownExport } from '../../contract/export-state.ts';
import { administered } from './administrator.ts';

const firstPauseMs = 2_000;
/** Each question costs the service the check of a password. */
const longestPauseMs = 30_000;

const ofEarlierVersion = {
  not_found: 'This service is of an earlier version and does not tell the state of exports. Ask the operator.',
};

export interface WatchedExport {
  readonly requestId: string;
  readonly kind: string;
}

/**
 * The state of an export; `undefined` if the service has no record of it or cannot tell.
 * @throws ClientError
 */
export async function recordedState(
  proxy: ProxyApi,
  { requestId, kind }: WatchedExport,
  signal: AbortSignal,
): Promise<ShownExport | undefined> {
  try {
    return (await administered(proxy.exportState(requestId, { kind, signal }))).shown;
  } catch (error) {
    // Not consumed yet, or an earlier version of the service, which has no such route.
    if (error instanceof ClientError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/**
 * Asks for the state of an export until it is final, with growing pauses.
 *
 * @param onState called with each answer
 * @throws ClientError, also if the service cannot tell
 */
export async function waitForExport(
  proxy: ProxyApi,
  watched: WatchedExport,
  signal: AbortSignal,
  onState: (shown: ShownExport) => void,
): Promise<ShownExport> {
  const { timing } = proxy.connection.transport;
  let isKnown = false;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const shown = await recordedState(proxy, watched, signal);
    // Without the list there is no state to wait for.
    if (!shown && !isKnown) await administered(proxy.exports({ kind: watched.kind, signal }), ofEarlierVersion);
    isKnown = true;
    if (shown) onState(shown);
    if (shown && !isUnderWay(shown.state)) return shown;
    await timing.sleep(pauseMs, signal).catch((cause: unknown) => {
      throw interrupted(cause);
    });
  }
}
