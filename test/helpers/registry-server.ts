import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { stopServer } from '../../lib/local/http.ts';
import { listenLocally } from './loopback.ts';

interface Named {
  readonly id: number;
}
export type StoredVersion = Named & { readonly digest: string; tags: string[] };
export type StoredRelease = Named & { readonly tag: string; name: string | null; draft: boolean };

/** A token. `scopes` as a classic one has them; without, it is fine-grained and has permissions alone. */
export interface StoredToken {
  readonly scopes?: readonly string[];
  /** Whether its account may write to the repository. */
  readonly push: boolean;
  /** The title of a release may not be written, although tags may. */
  readonly noTitles?: boolean;
}

/** What happens to one call. `before` and `after` its effect; `cut` is a reply that breaks off. An object is a reply without effect. */
export type Fault =
  | ('reset-before' | 'reset-after' | 'error-before' | 'error-after' | 'cut' | 'hang')
  | { status: number; headers?: Readonly<Record<string, string>>; message?: string; text?: string };

export const packageToken = 'package-token-9f3b';
export const repositoryToken = 'repository-token-71cd';

const sha = (digit: string) => digit.repeat(40);
const digest = (id: number) => `sha256:${String(id % 10).repeat(64)}`;
const version = (id: number, ...tags: string[]): StoredVersion => ({ id, tags, digest: digest(id) });
const release = (id: number, tag: string, name: string | null): StoredRelease => ({ id, tag, name, draft: false });

/** What the platform keeps. The one organization is `acme`, with the repository `archive` and the package `proxy`. */
export function initialState() {
  return {
    versions: [
      ...[version(107, 'proxy-1.2.1', 'latest'), version(106), version(105, 'proxy-1.2.0')],
      ...[version(104, 'proxy-1.2.0-rc.1', 'proxy-1.2'), version(103, 'old-proxy-1.2.0', 'proxy-1.2.00')],
    ],
    releases: [
      ...[release(11, 'proxy-1.2.1', 'Proxy 1.2.1'), release(10, 'proxy-1.2.0', 'Proxy 1.2.0')],
      release(9, 'proxy-1.2.0-rc.1', null),
    ],
    /** Name to commit. */
    tags: { 'proxy-1.2.1': sha('1'), 'proxy-1.2.0': sha('2'), 'proxy-1.2.0-rc.1': sha('3') } as Record<string, string>,
  };
}
export type PlatformState = ReturnType<typeof initialState>;

interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
const failure = (status: number, message: string, headers = {}): Reply => ({ status, body: { message }, headers });
const versionsPath = '/orgs/acme/packages/container/proxy/versions';
const refused = failure(403, 'Resource not accessible by this token');

/** The code-hosting platform and its registry: HTTP, with state. It answers the calls of the page alone, as the platform does. */
export class RegistryServer {
  state: PlatformState = initialState();
  readonly tokens = new Map<string, StoredToken>();
  /** By index of the call, from 0; a fault is used once. */
  readonly faults = new Map<number, Fault>();
  /** From this call on every call has the fault. */
  outage: { readonly from: number; readonly fault: Fault } | undefined;
  /** Runs before a call takes effect, with its index. */
  onCall: ((index: number, method: string, path: string) => void) | undefined;
  /** `path` with the query. */
  readonly calls: { method: string; path: string; token: string; status?: number }[] = [];
  /** Calls that are none of the page, or lack a header. */
  readonly violations: string[] = [];
  /** Largest page; the platform's is 100. */
  maxPerPage = 100;
  /** Listings that still show a deleted version. */
  lag = 0;
  protectedTags = new Set<string>();
  #deleted: StoredVersion | undefined;
  #origin = '';
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<RegistryServer> {
    const server = new RegistryServer();
    server.reset();
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
    this.tokens.set(packageToken, { scopes: ['delete:packages', 'read:packages'], push: false });
    this.tokens.set(repositoryToken, { scopes: ['repo'], push: true });
    this.faults.clear();
    const fresh = { state: initialState(), outage: undefined, onCall: undefined, maxPerPage: 100, lag: 0 };
    Object.assign(this, fresh, { protectedTags: new Set() });
    for (const list of [this.calls, this.violations]) list.length = 0;
    this.#deleted = undefined;
  }

  /** Calls that change something. */
  get writes(): readonly string[] {
    return this.calls.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const index = this.calls.length;
    const { method = '', headers } = request;
    const path = String(request.url).replace('/api/v3', '');
    const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
    const seen: (typeof this.calls)[number] = { method, path, token };
    this.calls.push(seen);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const fault = this.faults.get(index) ?? (this.outage && index >= this.outage.from ? this.outage.fault : undefined);
    if (fault === 'hang') return;
    if (fault === 'reset-before') return void response.destroy();
    const send = ({ status, body, headers: own }: Reply, text = body === undefined ? '' : JSON.stringify(body)) => {
      seen.status = status;
      const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(text) };
      response.writeHead(status, {
        'x-github-request-id': `A1B2:${String(index).padStart(6, '0')}`,
        ...length,
        ...own,
      });
      if (fault !== 'cut' || text === '') return void response.end(text);
      response.write(text.slice(0, text.length / 2), () => response.destroy());
    };
    if (fault === 'error-before') return send(failure(502, 'Bad gateway'));
    if (typeof fault === 'object') return send({ ...fault, body: { message: fault.message ?? 'no' } }, fault.text);
    if (headers.accept !== 'application/vnd.github+json' || headers['x-github-api-version'] !== '2022-11-28') {
      this.violations.push(`${method} ${path}: ${headers.accept}, ${headers['x-github-api-version']}`);
    }
    const url = new URL(path, 'http://platform.example.org');
    this.onCall?.(index, method, path);
    const owner = this.tokens.get(token);
    const call = `${method} ${decodeURIComponent(url.pathname)}`;
    const reply = owner
      ? this.#answer(call, owner, url, String(Buffer.concat(chunks)))
      : failure(401, 'Bad credentials');
    if (fault === 'reset-after') return void response.destroy();
    if (fault === 'error-after') return send(failure(502, 'Bad gateway'));
    const scopes = owner?.scopes && { 'x-oauth-scopes': owner.scopes.join(', ') };
    send({ ...reply, headers: { ...scopes, ...reply.headers } });
  }

  #answer(call: string, token: StoredToken, url: URL, body: string): Reply {
    const [verb = '', path = ''] = call.split(' ');
    if (path.startsWith(versionsPath)) return this.#packages(verb, path.slice(versionsPath.length + 1), token, url);
    const [, releaseId, ref] = /^\/repos\/acme\/archive\/(?:releases\/(\d+)|git\/refs?\/tags\/(.+))$/.exec(path) ?? [];
    const writes = token.push && (token.scopes?.includes('repo') ?? true);
    if (ref !== undefined) return this.#reference(verb, ref, writes);
    if (releaseId !== undefined) {
      const found = this.state.releases.find((each) => String(each.id) === releaseId);
      if (!found || (found.draft && !writes)) return failure(404, 'Not Found');
      if (verb === 'PATCH' && (!writes || token.noTitles)) return refused;
      if (verb === 'PATCH') Object.assign(found, JSON.parse(body));
      return { status: 200, body: releaseBody(found) };
    }
    if (call !== 'GET /repos/acme/archive/releases') {
      // A name that does not exist is asked for in the same way.
      if (!/^GET .*(versions|releases)$/.test(call)) this.violations.push(call);
      return failure(404, 'Not Found');
    }
    const visible = this.state.releases.filter(({ draft }) => !draft || writes);
    return this.#page(visible.map(releaseBody), url);
  }

  #packages(verb: string, id: string, { scopes, push }: StoredToken, url: URL): Reply {
    const may = (scope: string) => scopes?.includes(scope) ?? !push;
    if (!may('read:packages') && !may('delete:packages')) return failure(403, 'You need at least read:packages scope.');
    if (id === '') {
      const shown = this.#deleted && this.lag-- > 0 ? [this.#deleted, ...this.state.versions] : this.state.versions;
      return this.#page(shown.map(versionBody), url);
    }
    const found = this.state.versions.find((each) => String(each.id) === id);
    if (!found) return failure(404, 'Package not found.');
    if (verb === 'GET') return { status: 200, body: versionBody(found) };
    if (!may('delete:packages')) return failure(403, 'You need at least delete:packages scope.');
    this.state.versions = this.state.versions.filter((each) => each !== found);
    this.#deleted = found;
    return { status: 204 };
  }

  #reference(verb: string, name: string, writes: boolean): Reply {
    const commit = this.state.tags[name];
    const body = { ref: `refs/tags/${name}`, object: { sha: commit } };
    if (verb === 'GET') return commit ? { status: 200, body } : failure(404, 'Not Found');
    if (!writes) return refused;
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
    const next = `${this.url}${url.pathname}?per_page=${url.searchParams.get('per_page')}&page=${page + 1}`;
    const link = `<${next}>; rel="next", <${next}>; rel="last"`;
    const headers = page * size < all.length ? { link } : {};
    return { status: 200, body: all.slice((page - 1) * size, page * size), headers };
  }
}

const versionBody = ({ id, digest: name, tags }: StoredVersion) => ({
  ...{ id, name, created_at: '2026-11-20T22:19:11Z', url: 'https://platform.example.org/v' },
  metadata: { package_type: 'container', container: { tags } },
});
const pages = 'https://platform.example.org/acme/archive/releases/tag';
const releaseBody = ({ tag, ...rest }: StoredRelease) => ({ ...rest, tag_name: tag, html_url: `${pages}/${tag}` });
