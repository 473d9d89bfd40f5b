import { growingPause } from '../../../common/timing.ts';
import { isUnderWay, type ShownExport } from '../../../contract/export-state.ts';
import type { ProxyApi } from '../../api/delivery-api.ts';
import { ClientError, interrupted } from '../../api/errors.ts';
import { administered } from './administrator.ts';

/** The service checks a password for each poll. */
const pauses = { firstMs: 2_000, longestMs: 30_000, factor: 1.5 } as const;

/** The state of an export; `undefined` if the service has no record of it. @throws ClientError */
export async function recordedState(
  proxy: ProxyApi,
  { requestId, kind }: { readonly requestId: string; readonly kind: string },
  signal: AbortSignal,
): Promise<ShownExport | undefined> {
  try {
    return (await administered(proxy.exportState(requestId, { kind, signal }))).shown;
  } catch (error) {
    // Not consumed yet.
    if (error instanceof ClientError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/**
 * Polls the state of an export until it is final, with growing pauses.
 * @param onState called with each answer
 * @throws ClientError
 */
export async function waitForExport(
  proxy: ProxyApi,
  watched: Parameters<typeof recordedState>[1],
  signal: AbortSignal,
  onState: (shown: ShownExport) => void,
): Promise<ShownExport> {
  const { timing } = proxy.connection.transport;
  for (let asked = 0; ; asked += 1) {
    const shown = await recordedState(proxy, watched, signal);
    if (shown) onState(shown);
    if (shown && !isUnderWay(shown.state)) return shown;
    await timing.sleep(growingPause(asked, pauses), signal).catch((cause: unknown) => {
      throw interrupted(cause);
    });
  }
}
