import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Json } from '@hyperjump/json-pointer';
import { stopServer } from '../../lib/local/http.ts';
import { listenLocally } from './loopback.ts';
import { type DescribedRequest, PlatformDescription } from './platform-description.ts';

/** One container package version of the test platform. */
export interface StoredVersion {
  readonly id: number;
  readonly digest: string;
  tags: string[];
  /** The platform keeps what is public and was pulled more than 5,000 times. */
  readonly overDownloaded?: boolean;
}

export interface StoredRelease {
  readonly id: number;
  readonly tag: string;
  name: string | null;
  draft: boolean;
  readonly immutable?: boolean;
}

/** A token. `scopes` as a classic one has them; without, it is fine-grained and has permissions alone. */
export interface StoredToken {
  readonly scopes?: readonly string[];
  readonly deletePackages?: boolean;
  /** Whether its account may write to the repository. */
  readonly push: boolean;
  /** The title of a release may not be written, although tags may. */
  readonly noTitles?: boolean;
  readonly singleSignOn?: string;
}

/** What happens to one call. `before` and `after` its effect; `cut` is a reply that breaks off in its body. */
export type Fault = 'reset-before' | 'reset-after' | 'error-before' | 'error-after' | 'cut' | 'hang' | FaultReply;

/** A reply instead of the call's own; the call has no effect. */
export interface FaultReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
  /** Instead of the platform's error. A text that does not begin as JSON is sent as HTML. */
  readonly text?: string;
}

export interface SeenCall {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly token: string;
  readonly status: number | undefined;
}

export const packageToken = 'package-token-9f3b';
export const repositoryToken = 'repository-token-71cd';

const sha = (digit: string) => digit.repeat(40);
const digest = (digit: string) => `sha256:${digit.repeat(64)}`;

/** What the platform keeps. The one organization is `acme`, with the repository `archive` and the package `proxy`. */
export interface PlatformState {
  versions: StoredVersion[];
  releases: StoredRelease[];
  /** Name to commit. */
  tags: Record<string, string>;
}

export function initialState(): PlatformState {
  return {
    versions: [
      { id: 107, digest: digest('7'), tags: ['proxy-1.2.1', 'latest'] },
      { id: 106, digest: digest('6'), tags: [] },
      { id: 105, digest: digest('5'), tags: ['proxy-1.2.0'] },
      { id: 104, digest: digest('4'), tags: ['proxy-1.2.0-rc.1', 'proxy-1.2'] },
      { id: 103, digest: digest('3'), tags: ['old-proxy-1.2.0', 'proxy-1.2.00'] },
    ],
    releases: [
      { id: 11, tag: 'proxy-1.2.1', name: 'Proxy 1.2.1', draft: false },
      { id: 10, tag: 'proxy-1.2.0', name: 'Proxy 1.2.0', draft: false },
      { id: 9, tag: 'proxy-1.2.0-rc.1', name: null, draft: false },
    ],
    tags: { 'proxy-1.2.1': sha('1'), 'proxy-1.2.0': sha('2'), 'proxy-1.2.0-rc.1': sha('3') },
  };
}

/**
 * The code-hosting platform and its registry: HTTP, with state, answering as the published description says. Every
 * request and every answer is checked against that; what is wrong is kept in `violations`.
 */
export class RegistryServer {
  state: PlatformState = initialState();
  readonly tokens = new Map<string, StoredToken>();
  /** By index of the call, from 0; a fault is used once. */
  readonly faults = new Map<number, Fault>();
  /** From this call on every call has the fault. */
  outage: { readonly from: number; readonly fault: Fault } | undefined;
  /** Runs before a call takes effect, with its index. */
  onCall: ((index: number, request: DescribedRequest) => void) | undefined;
  readonly calls: SeenCall[] = [];
  readonly violations: string[] = [];
  /** Largest page; the platform's is 100. */
  maxPerPage = 100;
  /** Listings that still show a deleted version. */
  lag = 0;
  archived = false;
  protectedTags = new Set<string>();
  #deleted: StoredVersion | undefined;
  readonly #server: Server;
  #origin = '';
  readonly #description = PlatformDescription.read();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.violations.push(String(error));
        response.destroy();
      });
    });
    this.reset();
  }

  static async start(): Promise<RegistryServer> {
    const server = new RegistryServer();
    server.#origin = await listenLocally(server.#server);
    return server;
  }

  stop(): Promise<void> {
    return stopServer(this.#server);
  }

  get url(): string {
    return `${this.#origin}/api/v3`;
  }

  /** As new, and without recorded calls. */
  reset(): void {
    this.state = initialState();
    this.tokens.clear();
    this.tokens.set(packageToken, { scopes: ['delete:packages', 'read:packages'], push: false });
    this.tokens.set(repositoryToken, { scopes: ['repo'], push: true });
    this.faults.clear();
    this.calls.length = 0;
    this.violations.length = 0;
    this.outage = undefined;
    this.onCall = undefined;
    this.maxPerPage = 100;
    this.lag = 0;
    this.archived = false;
    this.protectedTags = new Set();
    this.#deleted = undefined;
  }

  /** Calls that change something. */
  get writes(): readonly string[] {
    return this.calls.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const index = this.calls.length;
    const { method = '', url: path = '', headers } = request;
    const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
    const seen = { method, path: path.replace('/api/v3', ''), token, status: undefined as number | undefined };
    this.calls.push(seen);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);

    const fault = this.faults.get(index) ?? (this.outage && index >= this.outage.from ? this.outage.fault : undefined);
    if (fault === 'hang') return;
    if (fault === 'reset-before') return void response.destroy();
    const common: Record<string, string> = { 'x-github-request-id': `A1B2:${String(index).padStart(6, '0')}` };
    const send = (reply: Reply) => {
      seen.status = reply.status;
      const text = reply.body === undefined ? '' : (reply.text ?? JSON.stringify(reply.body));
      const type: Record<string, string> = text
        ? { 'content-type': reply.type ?? 'application/json; charset=utf-8' }
        : {};
      const length: Record<string, string> =
        reply.status === 204 ? {} : { 'content-length': String(Buffer.byteLength(text)) };
      response.writeHead(reply.status, { ...common, ...type, ...length, ...reply.headers });
      if (fault !== 'cut' || text === '') return void response.end(text);
      response.write(text.slice(0, text.length / 2), () => response.destroy());
    };
    if (fault === 'error-before') return send(failure(502, 'Bad gateway'));
    if (typeof fault === 'object') {
      const body = { message: fault.message ?? 'no', documentation_url: 'https://docs.example.org' };
      const { text } = fault;
      return send({
        ...fault,
        body,
        ...(text === undefined ? {} : { text, ...(text.startsWith('<') && { type: 'text/html' }) }),
      });
    }

    this.#checkHeaders(headers);
    const url = new URL(path.replace('/api/v3', ''), 'http://platform.example.org');
    const described = await this.#description.checkRequest({ method, url, body: Buffer.concat(chunks).toString() });
    this.onCall?.(index, described);
    const reply = this.#answer(described, token, url, Buffer.concat(chunks).toString());
    await this.#description.checkReply(described, reply.status, reply.body as Json | undefined);
    if (fault === 'reset-after') return void response.destroy();
    if (fault === 'error-after') return send(failure(502, 'Bad gateway'));
    const { scopes } = this.tokens.get(token) ?? {};
    send({ ...reply, headers: { ...(scopes && { 'x-oauth-scopes': scopes.join(', ') }), ...reply.headers } });
  }

  #checkHeaders(headers: IncomingMessage['headers']): void {
    const expected = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
    for (const [name, value] of Object.entries(expected)) {
      if (headers[name] !== value) this.violations.push(`${name}: ${headers[name]}`);
    }
    if (!/^Bearer \S+$/.test(headers.authorization ?? '')) this.violations.push('no bearer token');
  }

  #answer({ operation, path }: DescribedRequest, secret: string, url: URL, body: string): Reply {
    const token = this.tokens.get(secret);
    if (!token) return failure(401, 'Bad credentials');
    if (token.singleSignOn) {
      const header = { 'x-github-sso': `required; url=${token.singleSignOn}` };
      return { ...failure(403, 'Resource protected by organization SAML enforcement.'), headers: header };
    }
    if (operation.startsWith('GET /orgs/{org}/packages') || operation.startsWith('DELETE /orgs')) {
      return this.#packages(operation, path, token, url);
    }
    if (operation === 'GET /orgs/{org}') {
      if (path.org !== 'acme') return failure(404, 'Not Found');
      return { status: 200, body: { ...this.#description.example(operation), login: 'acme', archived_at: null } };
    }
    if (path.owner !== 'acme' || path.repo !== 'archive') return failure(404, 'Not Found');
    return this.#repository(operation, path, token, url, body);
  }

  #packages(operation: string, path: DescribedRequest['path'], token: StoredToken, url: URL): Reply {
    const may = (scope: string) => token.scopes?.includes(scope) ?? token.deletePackages === true;
    const without = (scope: string): Reply => ({
      ...failure(403, `You need at least ${scope} scope to do this.`),
      headers: { 'x-accepted-oauth-scopes': scope },
    });
    if (path.org !== 'acme' || path.package_type !== 'container' || path.package_name !== 'proxy') {
      return failure(404, 'Package not found.');
    }
    if (!may('read:packages') && !may('delete:packages')) return without('read:packages');
    if (path.package_version_id === undefined) {
      if (!operation.endsWith('/versions')) {
        return {
          status: 200,
          body: { ...this.#description.example(operation), name: 'proxy', package_type: 'container' },
        };
      }
      const shown = this.#deleted && this.lag-- > 0 ? [this.#deleted, ...this.state.versions] : this.state.versions;
      return this.#page(
        shown.map((each) => this.#version(each)),
        url,
      );
    }
    const version = this.state.versions.find(({ id }) => String(id) === path.package_version_id);
    if (operation.startsWith('GET')) {
      return version ? { status: 200, body: this.#version(version) } : failure(404, 'Package not found.');
    }
    if (!may('delete:packages')) return without('delete:packages');
    if (!version) return failure(404, 'Package not found.');
    if (version.overDownloaded) {
      return failure(
        400,
        'Publicly visible package versions with more than 5000 downloads cannot be deleted. Contact support.',
      );
    }
    if (this.state.versions.length === 1) {
      return failure(400, 'You cannot delete the last version of a package. You must delete the package instead.');
    }
    this.state.versions = this.state.versions.filter((each) => each !== version);
    this.#deleted = version;
    return { status: 204 };
  }

  #repository(operation: string, path: DescribedRequest['path'], token: StoredToken, url: URL, body: string): Reply {
    const writes = token.push && (token.scopes?.includes('repo') ?? true);
    if (operation === 'GET /repos/{owner}/{repo}') return { status: 200, body: this.#repositoryBody(token) };
    if (operation === 'GET /repos/{owner}/{repo}/releases') {
      const visible = this.state.releases.filter(({ draft }) => !draft || writes);
      return this.#page(
        visible.map((each) => this.#release(each)),
        url,
      );
    }
    const release = this.state.releases.find(({ id }) => String(id) === path.release_id);
    if (path.release_id !== undefined) {
      if (!release || (release.draft && !writes)) return failure(404, 'Not Found');
      if (operation.startsWith('PATCH')) {
        if (!writes || token.noTitles || this.archived) return failure(403, 'Resource not accessible by this token');
        Object.assign(release, JSON.parse(body));
      }
      return { status: 200, body: this.#release(release) };
    }
    const name = path.ref?.replace(/^tags\//, '') ?? '';
    const commit = this.state.tags[name];
    if (operation.startsWith('GET')) {
      if (!commit) return failure(404, 'Not Found');
      const object = { type: 'commit', sha: commit, url: `https://platform.example.org/commits/${commit}` };
      const ref = `refs/tags/${name}`;
      return { status: 200, body: { ...this.#description.example(operation), ref, object } };
    }
    if (!writes || this.archived) return failure(403, 'Resource not accessible by this token');
    if (!commit) return failure(422, 'Reference does not exist');
    if (this.protectedTags.has(name)) return failure(422, 'Repository rule violations found: Cannot delete this tag');
    delete this.state.tags[name];
    // Observed of the platform: a release without its tag is a draft.
    for (const each of this.state.releases) if (each.tag === name) each.draft = true;
    return { status: 204 };
  }

  #page(all: readonly object[], url: URL): Reply {
    const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), this.maxPerPage);
    const page = Number(url.searchParams.get('page') ?? 1);
    const next = new URL(`${this.url}${url.pathname}${url.search}`);
    next.searchParams.set('page', String(page + 1));
    const more = page * size < all.length;
    return {
      status: 200,
      body: all.slice((page - 1) * size, page * size),
      headers: more ? { link: `<${next}>; rel="next", <${next}>; rel="last"` } : {},
    };
  }

  #version({ id, digest: name, tags }: StoredVersion): object {
    const example = this.#description.example(
      'GET /orgs/{org}/packages/{package_type}/{package_name}/versions/{package_version_id}',
    );
    return { ...example, id, name, metadata: { package_type: 'container', container: { tags } } };
  }

  #release({ id, tag, name, draft, immutable }: StoredRelease): object {
    const example = this.#description.example('GET /repos/{owner}/{repo}/releases/{release_id}');
    const html = `https://platform.example.org/acme/archive/releases/tag/${tag}`;
    return { ...example, id, tag_name: tag, name, draft, html_url: html, ...(immutable && { immutable }) };
  }

  #repositoryBody({ push }: StoredToken): object {
    const { parent, source, template_repository, organization, ...rest } =
      this.#description.example('GET /repos/{owner}/{repo}');
    const permissions = { admin: false, push, pull: true };
    return { language: null, ...rest, name: 'archive', archived: this.archived, permissions };
  }
}

interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the body as JSON. */
  readonly text?: string;
  readonly type?: string;
}

function failure(status: number, message: string): Reply {
  return { status, body: { message, documentation_url: 'https://docs.example.org', status: String(status) } };
}
