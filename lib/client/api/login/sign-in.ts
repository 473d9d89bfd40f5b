import * as oidc from 'openid-client';
import { grantType } from '../../../contract/reasons.ts';
import { ClientError, type ClientErrorCode, interrupted } from '../errors.ts';
import { visasAmong } from '../order/decoded-visa.ts';
import { refusal } from '../problem.ts';
import type { Transport } from '../transport.ts';
import type { EarlierSignIn, LoginSettings } from './about.ts';

/** The claim and the scope of visas (GA4GH Passport 1.2). */
const passportClaim = 'ga4gh_passport_v1';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** Between polls, unless the issuer says otherwise, and what `slow_down` adds (RFC 8628 § 3.5). */
const pollSeconds = 5;
/** 200 visas of the largest size. */
const replyBytes = 4 * 1024 * 1024;
const tellOperator = 'Tell the operator of the archive.';

/** What an error of the issuer means for the person, by its code. Any other is not theirs to mend. */
const byCode: Readonly<Record<string, readonly [ClientErrorCode, what: string, remedy: string]>> = {
  expired_token: [
    'timeout',
    'the code expired before the sign-in was approved',
    'Run data-out login again, and open the address sooner.',
  ],
  access_denied: [
    'forbidden',
    'the sign-in was refused',
    'Run data-out login again, and approve it. If you did, ask the archive whether your account may use it.',
  ],
  invalid_grant: [
    'unauthenticated',
    'the sign-in service no longer knows this sign-in',
    'Sign in again: data-out login.',
  ],
};
const refusals = new Map(Object.entries(byCode));

/** An OpenID provider, asked by the client's own HTTP. */
export class Issuer {
  readonly #login: LoginSettings;
  readonly #transport: Transport;
  readonly #signal: AbortSignal;
  /** Seconds by which the issuer's clock is ahead of this machine's. The library reads them after the first reply. */
  readonly #clock = { [oidc.clockSkew]: 0, [oidc.clockTolerance]: 60 };

  constructor(login: LoginSettings, transport: Transport, signal: AbortSignal) {
    this.#login = login;
    this.#transport = transport;
    this.#signal = signal;
  }

  /**
   * Signs a person in by the device flow (RFC 8628), and gets their visas.
   * @param keep whether to ask for a token that renews the visas later. Some issuers give none
   * @param show tells the person what to open on any device, and until when
   * @throws ClientError `forbidden` if the person or the issuer refuses, `timeout` if nobody uses the code
   */
  async signIn(keep: boolean, show: (device: oidc.DeviceAuthorizationResponse, expires: Date) => void) {
    const scopes = this.#login.scopes.filter((scope) => scope !== 'offline_access');
    const scope = [...scopes, ...(keep ? ['offline_access'] : [])].join(' ');
    return await this.#asking(async (config) => {
      const nonce = oidc.randomNonce();
      const verifier = config.serverMetadata().supportsPKCE() ? oidc.randomPKCECodeVerifier() : undefined;
      const code_challenge = verifier && (await oidc.calculatePKCECodeChallenge(verifier));
      const proof = code_challenge && { code_challenge, code_challenge_method: 'S256' };
      const device = await oidc.initiateDeviceAuthorization(config, { scope, nonce, ...(proof || {}) });
      const expires = new Date(this.#transport.timing.now().getTime() + device.expires_in * 1000);
      show(device, expires);
      const parameters = { device_code: device.device_code, ...(verifier && { code_verifier: verifier }) };
      const tokens = await this.#poll(config, parameters, device.interval ?? pollSeconds, expires);
      const claims = tokens.claims();
      if (claims === undefined) throw this.#wrong('gave no id token');
      if (claims.nonce !== undefined && claims.nonce !== nonce) throw this.#wrong('replied to a different sign-in');
      return await this.#visas(config, tokens, claims.sub);
    });
  }

  /**
   * The visas of an earlier sign-in, as they are now.
   * @param replace stores the token that replaces the earlier one, before anything else can fail
   * @throws ClientError `unauthenticated` if the person must sign in again
   */
  async renew(earlier: EarlierSignIn, replace: (renewal: EarlierSignIn) => Promise<void>) {
    return await this.#asking(async (config) => {
      const tokens = await oidc.refreshTokenGrant(config, earlier.refreshToken);
      if (tokens.refresh_token) await replace({ ...earlier, refreshToken: tokens.refresh_token });
      return await this.#visas(config, tokens, earlier.subject);
    });
  }

  /** Makes the issuer forget an earlier sign-in. @returns whether the issuer offers that */
  async revoke({ refreshToken }: EarlierSignIn): Promise<boolean> {
    return await this.#asking(async (config) => {
      if (config.serverMetadata().revocation_endpoint === undefined) return false;
      await oidc.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
      return true;
    });
  }

  /** The library's own loop looks at an interruption only every five seconds. */
  async #poll(config: oidc.Configuration, parameters: Record<string, string>, interval: number, expires: Date) {
    const { timing } = this.#transport;
    let seconds = interval;
    while (timing.now() < expires) {
      await timing.sleep(seconds * 1000, this.#signal);
      try {
        return await oidc.genericGrantRequest(config, deviceGrant, parameters);
      } catch (error) {
        if (!(error instanceof oidc.ResponseBodyError)) throw error;
        if (error.error === 'slow_down') seconds += pollSeconds;
        else if (error.error !== 'authorization_pending') throw error;
      }
    }
    throw this.#refused('expired_token');
  }

  /**
   * @returns `visas` for datasets, by the issuers that the service accepts and not verified, the other issuers of such visas, whom
   * they are about, and a new token that renews them, if the issuer gave one. Tokens are secrets
   */
  async #visas(config: oidc.Configuration, tokens: oidc.TokenEndpointResponse, person: string) {
    const { sub: subject, [passportClaim]: claim } = await oidc.fetchUserInfo(config, tokens.access_token, person);
    const grants = visasAmong(Array.isArray(claim) ? claim : []).filter(({ type }) => type === grantType);
    if (grants.length === 0) {
      const granted = tokens.scope?.split(' ').includes(passportClaim) ?? true;
      const why = granted ? 'although it granted the scope' : 'because it did not grant the scope';
      throw new ClientError('forbidden', `${this.#host} gave no visas for datasets, ${why} ${passportClaim}`, {
        remedy: granted
          ? 'Ask the data access committee whether your approval has reached this sign-in service.'
          : 'Tell the operator of the archive: the client there must be allowed this scope.',
      });
    }
    const { issuers } = this.#login;
    const visas = grants.filter(({ issuer }) => issuers.includes(issuer));
    const otherIssuers = [...new Set(grants.map(({ issuer }) => issuer))].filter((issuer) => !issuers.includes(issuer));
    if (visas.length > 0) return { visas, otherIssuers, subject, refreshToken: tokens.refresh_token };
    const remedy = tellOperator;
    throw new ClientError('forbidden', `the service accepts no visas of ${otherIssuers.join(', ')}`, { remedy });
  }

  get #host(): string {
    return new URL(this.#login.issuer).host;
  }

  #wrong(what: string): ClientError {
    return new ClientError('protocol', `the sign-in service ${this.#host} ${what}`, { remedy: tellOperator });
  }

  /** @param error code of the issuer (RFC 6749 § 5.2) */
  #refused(error: string): ClientError {
    const [code, what, remedy] = refusals.get(error) ?? [];
    if (code && what) return new ClientError(code, what, { remedy });
    return this.#wrong(`refuses the request (${error.replaceAll(/[^\w.-]/g, '').slice(0, 40)})`);
  }

  /** Runs `work` with what the issuer publishes about itself. Its errors are in the client's words, without a token. */
  async #asking<T>(work: (config: oidc.Configuration) => Promise<T>): Promise<T> {
    const { issuer, clientId } = this.#login;
    // The transport itself refuses http:// to other machines.
    const options = { [oidc.customFetch]: this.#fetch, execute: [oidc.allowInsecureRequests] };
    try {
      return await work(await oidc.discovery(new URL(issuer), clientId, this.#clock, oidc.None(), options));
    } catch (error) {
      throw this.#translated(error);
    }
  }

  readonly #fetch: oidc.CustomFetch = async (address, { method, headers, body }) => {
    const signal = this.#signal;
    const url = new URL(address);
    const sent = { url, method: method as 'GET' | 'POST', headers, signal, ...(body && { body: `${body}` }) };
    const backoff = this.#transport.backoff(signal);
    for (;;) {
      try {
        const reply = await this.#transport.send(sent);
        if (reply.status >= 500 || reply.status === 429)
          throw await refusal(reply, `signing in at ${url.host}`, 'anyone');
        const ahead = Date.parse(reply.header('date') ?? '') - this.#transport.timing.now().getTime();
        // A reply from a cache has the date of when it was made.
        if (reply.header('age') === undefined) this.#clock[oidc.clockSkew] = Math.round(ahead / 1000) || 0;
        const headers = { 'content-type': reply.header('content-type') ?? '' };
        // A reply without content, such as 204, must have none at all.
        return new Response((await reply.text(replyBytes)) || null, { status: reply.status, headers });
      } catch (error) {
        await backoff.failed(error);
      }
    }
  };

  #translated(error: unknown): unknown {
    if (this.#signal.aborted) return interrupted(error);
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof ClientError) return cause;
    }
    // The issuer's description could repeat a token.
    if (error instanceof oidc.ResponseBodyError) return this.#refused(error.error);
    if (!(error instanceof oidc.ClientError)) return error;
    const isOther = error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
    const unusable = `sent a reply that this program cannot use (${error.code})`;
    return this.#wrong(isOther ? 'replied for a different issuer or person' : unusable);
  }
}
