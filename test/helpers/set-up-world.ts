import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopServer } from '../../lib/local/http.ts';
import type { Terminal } from '../../lib/terminal/terminal.ts';
import { type CliRun, runCli } from './cli-run.ts';
import { listenLocally } from './loopback.ts';
import { unverifiedToken, visaClaims } from './unverified-token.ts';

/** Times of expiry, as claims: far ahead, and long ago. */
export const farAhead = 4_102_444_800;
const longAgo = 1_577_836_800;

/** A visa in force, one that has expired, and one whose issuer the service does not trust. */
export const visas = {
  good: unverifiedToken(visaClaims('EGAD1', { exp: farAhead })),
  expired: unverifiedToken(visaClaims('EGAD1', { exp: longAgo })),
  foreign: unverifiedToken(visaClaims('EGAD1', { exp: farAhead, iss: 'https://other.example.org/' })),
} as const;

const issuers = ['https://issuer.example.org/'];
const about = { name: 'data-out', version: '1.2.3', organization: 'Example Archive', archiveKind: 'fega', issuers };

/** A person at a terminal, a folder, and a service that looks at credentials as docs/api.md says. */
export class SetUpWorld {
  /** The person's folder. It has `visa.jwt`, `expired.jwt` and `foreign.jwt`. */
  readonly folder: string;
  readonly url: string;
  /** Where it lets people sign in; `undefined`: nowhere. */
  login: object | undefined;
  /** Whether it says that the listing takes a user name and a password. */
  basicRequired = true;
  /** Whether the listing takes a user name and a password. */
  needsPassword = true;
  /** The visa that the listing takes. */
  accepted: string = visas.good;
  username = 'jané 😀';
  password = 'pass wörd 🔑';
  readonly #stop: () => Promise<void>;

  private constructor(folder: string, url: string, stop: () => Promise<void>) {
    this.folder = folder;
    this.url = url;
    this.#stop = stop;
  }

  static async start(): Promise<SetUpWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out setup 😀 '));
    let world: SetUpWorld;
    const server = createServer((incoming, outgoing) => world.#handle(incoming, outgoing));
    const origin = await listenLocally(server);
    world = new SetUpWorld(folder, `${origin}/v1/`, () => stopServer(server));
    for (const [name, visa] of Object.entries(visas)) {
      await writeFile(join(folder, name === 'good' ? 'visa.jwt' : `${name}.jwt`), `${visa}\n`, { mode: 0o600 });
    }
    return world;
  }

  async stop(): Promise<void> {
    await this.#stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Path in the person's folder. */
  at(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** Where the configuration is written. */
  get configPath(): string {
    return this.at('.config', 'data-out', 'config.toml');
  }

  /** Runs the client with a person who gives these answers in turn, to questions of either kind. */
  async run(
    argv: readonly string[],
    answers: readonly string[] = [],
    choices: Partial<Terminal> = {},
  ): Promise<CliRun & { readonly questions: readonly string[] }> {
    const questions: string[] = [];
    const answer = async (question: string) => {
      questions.push(question);
      const given = answers[questions.length - 1];
      if (given === undefined) throw new Error(`the test expects no question ${question}`);
      return given;
    };
    const run = await runCli(argv, {
      folder: this.folder,
      ask: answer,
      askAside: answer,
      askShown: answer,
      ...choices,
      env: { HOME: this.folder, ...choices.env },
    });
    return { ...run, questions };
  }

  /** The same without a person. */
  async script(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CliRun> {
    return await this.run(argv, [], { ask: undefined, askAside: undefined, askShown: undefined, env });
  }

  /** Saves a file in the person's folder, which others cannot read. */
  async save(name: string, content: string): Promise<string> {
    await writeFile(this.at(name), content);
    await chmod(this.at(name), 0o600);
    return this.at(name);
  }

  #handle({ url = '', headers }: IncomingMessage, outgoing: ServerResponse): unknown {
    const { pathname } = new URL(url, this.url);
    if (pathname === '/v1/openapi.json') return json(outgoing, { openapi: '3.1.0', paths: { '/files': {} } });
    if (pathname === '/v1/.well-known/data-out') {
      const { basicRequired, login } = this;
      return json(outgoing, { ...about, basicRequired, ...(login && { login }) });
    }
    if (pathname === '/v1/service-info') return json(outgoing, { id: 'org.example.data-out', type: {} });
    if (pathname === '/v1/metadata/datasets') return json(outgoing, ['EGAD1']);
    if (pathname !== '/v1/files') return problem(outgoing, 404, 'there is no such resource');
    const visa = headers['x-ga4gh-visa'];
    if (visa === visas.expired) {
      return problem(outgoing, 401, 'the visa was refused (expired): the token has expired');
    }
    if (visa !== this.accepted) {
      const detail = 'the visa was refused (untrusted_issuer): the issuer is not trusted for this kind of token';
      return problem(outgoing, 401, detail);
    }
    const { authorization } = headers;
    const right = `Basic ${Buffer.from(`${this.username}:${this.password}`, 'utf8').toString('base64')}`;
    if (authorization === undefined && this.needsPassword) {
      const detail = "the central archive's credentials are missing: send Authorization: Basic";
      return problem(outgoing, 401, detail);
    }
    if (authorization !== undefined && authorization !== right) {
      return problem(outgoing, 401, "the central archive's user name or password is wrong");
    }
    return json(outgoing, { files: [] });
  }
}

function json(outgoing: ServerResponse, body: unknown): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function problem(outgoing: ServerResponse, status: number, detail: string): void {
  const code = status === 401 ? 'unauthenticated' : 'not_found';
  outgoing.writeHead(status, { 'content-type': 'application/problem+json' });
  outgoing.end(JSON.stringify({ type: 'about:blank', title: 'No', status, detail, code, requestId: 'r-1' }));
}
