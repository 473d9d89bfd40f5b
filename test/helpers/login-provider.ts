import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import Provider from 'oidc-provider';
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js';
import { stopServer } from '../../lib/local/http.ts';
import { listenLocally } from './loopback.ts';

const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** A reply of the provider, for a test to change. */
export interface ProviderReply {
  status: number;
  /** Its JSON. */
  body: Record<string, unknown>;
  readonly headers: Record<string, string>;
}

/**
 * A certified OpenID provider in this process, which gives visas at `userinfo`. A test stands for the person in the browser:
 * {@link decide} approves or denies.
 */
export class LoginProvider {
  readonly issuer: string;
  /** What `userinfo` has as `ga4gh_passport_v1`; `undefined`: no such claim. */
  visas: unknown = [];
  /** Who approves every sign-in at once; `undefined`: a test decides. */
  approves: string | undefined;
  /** Paths of the requests, in their order. */
  readonly requests: string[] = [];
  /** Bodies of the requests to the token endpoint. */
  readonly grants: URLSearchParams[] = [];
  /** Changes a reply, by the path of its request. `'lose'`: the connection breaks instead. */
  change: (path: string, reply: ProviderReply) => 'lose' | undefined | Promise<undefined> = () => undefined;
  readonly #provider: Provider;
  readonly #server: Server;

  private constructor(server: Server, issuer: string) {
    this.#server = server;
    this.issuer = issuer;
    this.#provider = new Provider(issuer, {
      clients: [
        {
          client_id: 'data-out',
          token_endpoint_auth_method: 'none',
          grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
          response_types: [],
          redirect_uris: [],
        },
      ],
      scopes: ['openid', 'offline_access', 'ga4gh_passport_v1'],
      claims: { openid: ['sub'], ga4gh_passport_v1: ['ga4gh_passport_v1'] },
      features: {
        deviceFlow: { enabled: true },
        revocation: { enabled: true, allowedPolicy: () => true },
        devInteractions: { enabled: false },
      },
      findAccount: async (_context: unknown, sub: string) => ({
        accountId: sub,
        claims: async () => ({ sub, ...(this.visas !== undefined && { ga4gh_passport_v1: this.visas }) }),
      }),
      // A class derived from the default does not look like a forgotten setting, of which the provider warns.
      adapter: class extends MemoryAdapter {},
      rotateRefreshToken: true,
      cookies: { keys: ['of tests'] },
      jwks: { keys: [key.export({ format: 'jwk' })] },
      ttl: { AccessToken: 3600, DeviceCode: 600, Grant: 3600, IdToken: 3600, RefreshToken: 3600 },
    });
    this.#provider.use(async (context, next) => {
      this.requests.push(context.path);
      await next();
      if (context.path === '/token') this.grants.push(new URLSearchParams(context.oidc?.body));
      // It names no interval, and the default would make every test take five seconds.
      if (context.path === '/device/auth') context.body = { interval: 0.05, ...context.body };
      if (context.path === '/device/auth' && this.approves) {
        await this.decide(context.body.user_code, { account: this.approves });
      }
      const reply = { status: context.status, body: context.body, headers: {} };
      if ((await this.change(context.path, reply)) === 'lose') return void context.req.socket.destroy();
      context.status = reply.status;
      context.body = reply.body;
      context.set(reply.headers);
    });
    server.on('request', this.#provider.callback());
  }

  static async start(): Promise<LoginProvider> {
    const server = createServer();
    return new LoginProvider(server, await listenLocally(server));
  }

  /** As the settings of a service have it. */
  get login() {
    return { issuer: this.issuer, clientId: 'data-out', scopes: ['openid', 'ga4gh_passport_v1'] };
  }

  /** The person opens the address, enters the code, and approves as this account or denies. */
  async decide(userCode: string, decision: { readonly account: string } | 'deny'): Promise<void> {
    const { DeviceCode, Grant } = this.#provider;
    const code = await DeviceCode.findByUserCode(userCode.replaceAll(/\W/g, '').toUpperCase());
    if (decision === 'deny') {
      Object.assign(code, { error: 'access_denied', errorDescription: 'the person said no' });
    } else {
      const { scope } = code.params;
      const accountId = decision.account;
      const grant = new Grant({ accountId, clientId: 'data-out' });
      grant.addOIDCScope(scope);
      Object.assign(code, { accountId, scope, grantId: await grant.save(), authTime: Math.floor(Date.now() / 1000) });
    }
    await code.save();
  }

  stop(): Promise<void> {
    return stopServer(this.#server);
  }
}
