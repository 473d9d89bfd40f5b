import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generatedPlaintext } from './crypt4gh-vectors.ts';
import { InstalledClient } from './installed-client.ts';
import { Service } from './service.ts';

const root = join(import.meta.dirname, '../..');
const people = ['operator', 'researcher', 'program'] as const;
export type Person = (typeof people)[number];

/** The plaintext of `sample.bam`, which the operator archives. */
export const sample = generatedPlaintext('pages', 200_000);
/** The name of its container in the outbox. */
export const container = 'EGAF00000000001-sample.bam.c4gh';

/**
 * The programs of the pages: `data-out` as it is installed, and `data-out-ops` without npm. Without `--aws` the same commands
 * work on the engine. Programs that show an answer to people pass it on.
 */
const programs = `
data-out() { node "$CLIENT" "$@"; }
npx() {
  [ "$1" = data-out-ops ] || return 1
  shift
  [ "$1" != --aws ] || shift
  node "$TREE/bin/data-out-ops.ts" "$@"
}
jq() { cat; }
xxd() { cat; }
head() { command head "$@"; cat >/dev/null; }
`;

/** A folder for each person whom the pages speak to, and one engine for all of them. */
export class PageWorld {
  readonly #folder: string;
  readonly #client: InstalledClient;
  readonly #service: Service;
  /** Passwords that the operator's tool has made. */
  readonly passwords = { alice: '', central: '' };

  private constructor(folder: string, client: InstalledClient, service: Service) {
    this.#folder = folder;
    this.#client = client;
    this.#service = service;
  }

  static async make(): Promise<PageWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-pages-'));
    const [client, service] = await Promise.all([InstalledClient.install(), Service.start()]);
    for (const person of people) await mkdir(join(folder, person));
    await writeFile(join(folder, 'operator/sample.bam'), sample);
    return new PageWorld(folder, client, service);
  }

  async remove(): Promise<void> {
    await this.#service.stop();
    await this.#client.remove();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get connection() {
    return this.#service.connection;
  }

  path(...names: readonly string[]): string {
    return join(this.#folder, ...names);
  }

  file(...names: readonly string[]): Promise<Buffer> {
    return readFile(this.path(...names));
  }

  /** Copies files of one person to another. */
  async give(names: readonly string[], from: Person, to: Person): Promise<void> {
    for (const name of names) await copyFile(this.path(from, name), this.path(to, name));
  }

  /** Runs commands in a person's folder. @returns standard output @throws with standard error when a command fails */
  async follow(
    { text }: { readonly text: string },
    person: Person,
    more: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const { proxyUrl, dataOutUrl } = this.connection;
    const env = {
      PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
      HOME: this.path(person),
      TREE: root,
      CLIENT: this.#client.script,
      DATA_OUT_CONNECTION: this.#service.engine.connectionPath,
      DATA_OUT_PASSPHRASE: 'correct horse',
      PROXY_URL: proxyUrl,
      DIRECT_URL: dataOutUrl,
      ...more,
    };
    const argv = ['--norc', '-euo', 'pipefail', '-c', `${programs}${text}`];
    const { stdout } = await promisify(execFile)('bash', argv, { cwd: this.path(person), env });
    return stdout;
  }

  /** Settings of the researcher. */
  researcher() {
    return {
      PASSWORD: this.passwords.central,
      DATA_OUT_PASSWORD: this.passwords.central,
      DATA_OUT_URL: this.connection.proxyUrl,
      DATA_OUT_VISA_FILE: 'visa.jwt',
      DATA_OUT_USERNAME: 'central',
    };
  }

  /** Settings of the administrator. */
  administrator() {
    const { alice } = this.passwords;
    return { PASSWORD: alice, DATA_OUT_URL: this.connection.proxyUrl, DATA_OUT_ADMIN_PASSWORD: alice };
  }
}
