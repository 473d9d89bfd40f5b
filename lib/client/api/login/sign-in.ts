import * as oidc from 'openid-client';
import { grantType } from '../../../contract/reasons.ts';
import { ClientError, interrupted } from '../errors.ts';
import { type DecodedVisa, visasAmong } from '../order/decoded-visa.ts';
import { refusal } from '../problem.ts';
import type { Transport } from '../transport.ts';
import type { LoginSettings } from './about.ts';

/** What a person opens on any device, within the time. */
export interface Invitation {
  readonly url: string;
  readonly code: string;
  /** The address with the code in it, if the issuer offers one. */
  readonly directUrl: string | undefined;
  readonly expires: Date;
}

/** What the issuer gave for a sign-in or its renewal. Its tokens are secrets. */
export interface SignedIn {
  /** Those for datasets, by the issuers that the service accepts. Not verified. */
  readonly visas: readonly DecodedVisa[];
  /** The other issuers of visas for datasets. */
  readonly otherIssuers: readonly string[];
  /** Whom they are about, for the sign-in service. */
  readonly subject: string;
  /** Renews the visas. Some issuers give none, or another one at each renewal. */
  readonly refreshToken: string | undefined;
}

/** How a person signed in before. */
export interface EarlierSignIn extends LoginSettings {
  readonly subject: string;
  readonly refreshToken: string;
}

/** The claim and the scope of visas (GA4GH Passport 1.2). */
const passportClaim = 'ga4gh_passport_v1';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** Between polls, unless the issuer says otherwise, and what `slow_down` adds (RFC 8628 § 3.5). */
const pollSeconds = 5;
/** 200 visas of the largest size. */
const replyBytes = 4 * 1024 * 1024;
const tellOperator = 'Tell the operator of the archive.';

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
   * @param keep whether to ask for a token that renews the visas later
   * @param show tells the person what to open
   * @throws ClientError `forbidden` if the person or the issuer refuses, `timeout` if nobody uses the code
   */
  async signIn(keep: boolean, show: (invitation: Invitation) => void): Promise<SignedIn> {
    const scopes = this.#login.scopes.filter((scope) => scope !== 'offline_access');
    const scope = [...scopes, ...(keep ? ['offline_access'] : [])].join(' ');
    return await this.#asking(async (config) => {
      const verifier = oidc.randomPKCECodeVerifier();
      const nonce = oidc.randomNonce();
      const offersPkce = config.serverMetadata().code_challenge_methods_supported?.includes('S256');
      const device = await oidc.initiateDeviceAuthorization(config, {
        ...{ scope, nonce },
        ...(offersPkce && {
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        }),
      });
      const { device_code, user_code: code, verification_uri: url, verification_uri_complete: directUrl } = device;
      const expires = new Date(this.#transport.timing.now().getTime() + device.expires_in * 1000);
      show({ url, code, directUrl, expires });
      const parameters = { device_code, ...(offersPkce && { code_verifier: verifier }) };
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
  async renew(earlier: EarlierSignIn, replace: (renewal: EarlierSignIn) => Promise<void>): Promise<SignedIn> {
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
    throw codeExpired();
  }

  async #visas(config: oidc.Configuration, tokens: oidc.TokenEndpointResponse, subject: string): Promise<SignedIn> {
    const info = await oidc.fetchUserInfo(config, tokens.access_token, subject);
    const claim: unknown = info[passportClaim];
    const grants = visasAmong(Array.isArray(claim) ? claim : []).filter(({ type }) => type === grantType);
    if (grants.length === 0) {
      const granted = tokens.scope === undefined || tokens.scope.split(' ').includes(passportClaim);
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
    if (visas.length > 0) return { visas, otherIssuers, subject: info.sub, refreshToken: tokens.refresh_token };
    throw new ClientError('forbidden', `the service accepts no visas of ${otherIssuers.join(', ')}`, {
      remedy: tellOperator,
    });
  }

  get #host(): string {
    return new URL(this.#login.issuer).host;
  }

  #wrong(what: string): ClientError {
    return new ClientError('protocol', `the sign-in service ${this.#host} ${what}`, { remedy: tellOperator });
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
        if (reply.status >= 500 || reply.status === 429) throw await refusal(reply, `signing in at ${url.host}`);
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
    if (error instanceof oidc.ResponseBodyError) {
      // A code has these characters alone (RFC 6749 § 5.2); a description could repeat a token.
      const code = error.error.replaceAll(/[^\w.-]/g, '').slice(0, 40);
      return refused(code) ?? this.#wrong(`refuses the request (${code})`);
    }
    if (!(error instanceof oidc.ClientError)) return error;
    const isOther = error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
    return this.#wrong(
      isOther
        ? 'replied for a different issuer or person'
        : `sent a reply that this program cannot use (${error.code})`,
    );
  }
}

function codeExpired(): ClientError {
  return new ClientError('timeout', 'the code expired before the sign-in was approved', {
    remedy: 'Run data-out login again, and open the address sooner.',
  });
}

/** What an error of the issuer means for the person; `undefined` for one that they cannot mend. */
function refused(code: string): ClientError | undefined {
  if (code === 'expired_token') return codeExpired();
  if (code === 'access_denied') {
    return new ClientError('forbidden', 'the sign-in was refused', {
      remedy: 'Run data-out login again, and approve it. If you did, ask the archive whether your account may use it.',
    });
  }
  if (code !== 'invalid_grant') return undefined;
  const remedy = 'Sign in again: data-out login.';
  return new ClientError('unauthenticated', 'the sign-in service no longer knows this sign-in', { remedy });
}
