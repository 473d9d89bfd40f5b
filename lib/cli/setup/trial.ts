import { ClientError, type RefusedHalf, ServiceError } from '../../client/errors.ts';
import { ProxyApi } from '../../client/proxy.ts';
import type { CheckResult } from '../doctor/check.ts';
import { checkApi, proxyApi } from '../doctor/service-checks.ts';
import { checkVisa } from '../doctor/visa-check.ts';
import type { Session } from '../session.ts';
import { type Settings, serviceUrl } from '../settings.ts';
import type { Checked, Doubt } from './interview.ts';

/** Settings that are tried at the service. */
type Tried = Pick<Settings, 'proxyUrl' | 'visa' | 'basic'>;

/** An address, and the service's time if a service answers there. */
export interface TriedAddress {
  readonly url: URL;
  readonly now: Date | undefined;
}

/** What became of the credentials of a listing. */
export type Refused = RefusedHalf | 'none' | 'unknown';

/** Tries answers at the service before they become settings. */
export class Trial {
  readonly #open: (tried: Tried) => Session;

  /** @param open a session with these settings, and the user's other ones */
  constructor(open: (tried: Tried) => Session) {
    this.#open = open;
  }

  /** @throws UsageError, ClientError for a text that is no address, or one that is not encrypted */
  async address(text: string, source: string): Promise<Checked<TriedAddress>> {
    const given = serviceUrl(source, text);
    await using session = this.#open({ proxyUrl: given, visa: undefined, basic: undefined });
    const service = await session.service();
    // With the slash at its end that every address needs.
    const { proxyUrl: url = given } = service;
    const { results, seen } = await checkApi(proxyApi(url), service, session.terminal.signal);
    return { value: { url, now: seen?.date ?? (seen && session.terminal.now()) }, doubt: failureIn(results) };
  }

  /** Tries the visa alone, and so learns whether a password is needed. @param token as it was read, in the form of a visa */
  async visa(
    address: TriedAddress,
    token: string,
    clock: () => Date,
  ): Promise<{ readonly refused: Refused; readonly doubt: Doubt | undefined }> {
    const failure = failureIn([checkVisa(token, address.now ?? clock())]);
    const { refused, error } = await this.listing(address, token);
    return { refused, doubt: failure ?? (refused === 'visa' ? error : undefined) };
  }

  /** Which half of the credentials the service refuses. `unknown` if it cannot be asked at the moment. */
  async listing(
    { url, now }: TriedAddress,
    token: string,
    basic?: { readonly username: string; readonly password: string },
  ): Promise<{ readonly refused: Refused; readonly error?: Doubt }> {
    if (now === undefined) return { refused: 'unknown' };
    const credentials = basic && (() => Promise.resolve(basic));
    await using session = this.#open({ proxyUrl: url, visa: () => Promise.resolve(token), basic: credentials });
    try {
      const { signal } = session.terminal;
      await new ProxyApi(await session.service()).listPage({ perPage: 1, signal });
      return { refused: 'none' };
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'interrupted') throw error;
      const refused = error instanceof ServiceError ? error.refused : undefined;
      return refused ? { refused, error } : { refused: 'unknown' };
    }
  }
}

function failureIn(results: readonly CheckResult[]): ClientError | undefined {
  const found = results.find(({ verdict }) => verdict === 'failed');
  return found && new ClientError(found.code ?? 'usage', found.text, { remedy: found.remedy });
}
