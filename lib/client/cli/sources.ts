import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Terminal } from '../../terminal/terminal.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { readSecretFile, refuseToken } from './secrets.ts';

/** A setting and where it was found. */
export interface Found {
  /** Its name for the user, in errors: `--url`, `DATA_OUT_URL`, `/home/…/config.toml: url`. */
  readonly source: string;
  readonly value: string;
  /** Folder of relative paths. */
  readonly folder: string;
  readonly rank: 'option' | 'environment' | 'file';
}

/** The configuration file. @param named by the user; default: `DATA_OUT_CONFIG`, else the file in the usual place */
export function configPath(
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
  named: string | undefined,
): { readonly path: string; readonly isNamed: boolean } {
  const name = named ?? (env.DATA_OUT_CONFIG || undefined);
  if (name !== undefined) return { path: resolve(folder, name), isNamed: true };
  const base = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return { path: join(base, 'data-out', 'config.toml'), isNamed: false };
}

/** The user's folder for caches, which might not exist yet; `undefined` without a home. */
export function cachePath({ env }: Pick<Terminal, 'env'>): string | undefined {
  if (process.platform === 'win32') return env.LOCALAPPDATA || undefined;
  return env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache');
}

/** Where settings are looked for. */
export class Sources {
  readonly config: ConfigFile;
  readonly #path: string;
  readonly #terminal: Pick<Terminal, 'env' | 'folder'>;

  constructor(terminal: Pick<Terminal, 'env' | 'folder'>, path: string, config: ConfigFile) {
    this.#terminal = terminal;
    this.#path = path;
    this.config = config;
  }

  /** @param named file that the user names, which must exist; the default file need not. */
  static async open(terminal: Pick<Terminal, 'env' | 'folder'>, named: string | undefined): Promise<Sources> {
    const { path, isNamed } = configPath(terminal, named);
    return new Sources(terminal, path, await readConfigFile(path, { mustExist: isNamed }));
  }

  /** A file beside the configuration file. */
  beside(name: string): string {
    return join(dirname(this.#path), name);
  }

  /** The value of an option. */
  option(source: string, value: string | undefined): Found | undefined {
    return value === undefined ? undefined : { source, value, folder: this.#terminal.folder, rank: 'option' };
  }

  /** The first variable that is set and not empty. */
  variable(names: readonly string[]): Found | undefined {
    for (const source of names) {
      const value = this.#terminal.env[source];
      if (value) return { source, value, folder: this.#terminal.folder, rank: 'environment' };
    }
    return undefined;
  }

  /** The value in the configuration file. */
  configured(key: keyof ConfigFile): Found | undefined {
    const value = this.config[key];
    return typeof value === 'string' ? this.inConfig(key, value) : undefined;
  }

  inConfig(key: keyof ConfigFile, value: string): Found {
    return { source: `${this.#path}: ${key}`, value, folder: dirname(this.#path), rank: 'file' };
  }
}

/** The path that a setting names. `~` is expanded in configuration files and answers, which no shell has read. */
export function pathOf({ value, folder }: Pick<Found, 'value' | 'folder'>): string {
  return /^~[/\\]/.test(value) ? join(homedir(), value.slice(2)) : resolve(folder, value);
}

/** The file of a secret, unless a variable that holds the secret itself overrides it. */
export function secretFile(file: Found | undefined, variable: Found | undefined): Found | undefined {
  return variable && file?.rank !== 'option' ? undefined : file;
}

/**
 * A secret from a file or from the environment. An option overrides the environment, and the environment overrides the
 * configuration file. A file is read each time.
 * @param check throws an error that names the source and never the value
 */
export function secretOf(
  file: Found | undefined,
  variable: Found | undefined,
  check: (source: string, value: string) => string | Promise<string> = (_source, value) => value,
): (() => Promise<string>) | undefined {
  const named = secretFile(file, variable);
  if (named === undefined) return variable && (async () => check(variable.source, variable.value));
  refuseToken(named.source, named.value);
  return async () => check(named.source, await readSecretFile(named.source, pathOf(named)));
}
