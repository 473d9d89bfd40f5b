import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatPrivateKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { type ClientChoices, type ClientRun, startClient } from './client-process.ts';
import { installedProgram } from './installed-program.ts';

/** The client as it is installed, with a key, for servers that ignore credentials. */
export class InstalledClient {
  readonly root: string;
  readonly script: string;
  readonly keys = generateKeyPair();
  #folders = 0;

  private constructor(root: string, script: string) {
    this.root = root;
    this.script = script;
  }

  /** @param parent on the disk where it works */
  static async install(parent = tmpdir()): Promise<InstalledClient> {
    const client = new InstalledClient(await mkdtemp(join(parent, 'data-out-installed-')), await installedProgram());
    await writeFile(client.keyPath, await formatPrivateKey(client.keys.privateKey), { mode: 0o600 });
    return client;
  }

  async remove(): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }

  get keyPath(): string {
    return join(this.root, 'key.sec.pem');
  }

  /** An empty folder. */
  async folder(name = `folder-${++this.#folders}`): Promise<string> {
    const path = join(this.root, name);
    await mkdir(path);
    return path;
  }

  /** @param url of the delivery API */
  env(url: string): Record<string, string> {
    return {
      HOME: this.root,
      DATA_OUT_URL: url,
      DATA_OUT_VISA: 'eyJhbGciOiJub25lIn0.e30.c2lnbmF0dXJl',
      DATA_OUT_USERNAME: 'researcher',
      DATA_OUT_PASSWORD: 'password',
    };
  }

  start(url: string, argv: readonly string[], choices: Partial<ClientChoices> = {}) {
    const { env, ...rest } = choices;
    return startClient(argv, { script: this.script, ...rest, env: { ...this.env(url), ...env } });
  }

  run(url: string, argv: readonly string[], choices: Partial<ClientChoices> = {}): Promise<ClientRun> {
    return this.start(url, argv, choices).ended;
  }
}
