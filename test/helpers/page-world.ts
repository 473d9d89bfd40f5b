import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { InstalledClient } from './installed-client.ts';
import { Service } from './service.ts';

const root = join(import.meta.dirname, '../..');

/**
 * The programs of the pages: `data-out` as it is installed, and `data-out-ops` without npm. Without `--aws` the same commands
 * work on the engine.
 */
const programs = `
npx() {
  local program=$1
  shift
  [ "\${1-}" != --aws ] || shift
  case $program in
    data-out) node "$CLIENT" "$@" ;;
    data-out-ops) node "$TREE/bin/data-out-ops.ts" "$@" ;;
    *) return 1 ;;
  esac
}
`;

/** A folder for the commands of pages, and one engine, which has written its connection file there as `npm start` does. */
export class PageWorld {
  readonly #folder: string;
  readonly #client: InstalledClient;
  readonly #service: Service;

  private constructor(folder: string, client: InstalledClient, service: Service) {
    this.#folder = folder;
    this.#client = client;
    this.#service = service;
  }

  static async make(): Promise<PageWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-pages-'));
    const [client, service] = await Promise.all([InstalledClient.install(), Service.start()]);
    await mkdir(join(folder, '.local'));
    await copyFile(service.engine.connectionPath, join(folder, '.local/connection.json'));
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

  path(name: string): string {
    return join(this.#folder, name);
  }

  file(name: string): Promise<Buffer> {
    return readFile(this.path(name));
  }

  /** Runs commands. @returns standard output @throws with standard error when a command fails */
  async follow({ text }: { readonly text: string }): Promise<string> {
    const env = {
      PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
      HOME: this.#folder,
      TREE: root,
      CLIENT: this.#client.script,
      // Each block has its own shell, and the first sets it.
      DIRECT_URL: this.connection.dataOutUrl,
    };
    const argv = ['--norc', '-euo', 'pipefail', '-c', `${programs}${text}`];
    const { stdout } = await promisify(execFile)('bash', argv, { cwd: this.#folder, env });
    return stdout;
  }
}
