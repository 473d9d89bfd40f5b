import { resolve } from 'node:path';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ConfigFile } from '../config-file.ts';
import { pathOf, Sources } from '../sources.ts';
import { type Answers, exists, type OldAnswers } from './answers.ts';
import { passwordFile } from './store.ts';

/** Settings without a question: the options of the command line. */
export interface UnaskedSettings {
  readonly directUrl?: string;
  readonly passphraseFile?: string;
  readonly ca?: string;
  readonly insecureHttp?: boolean;
}

/** The configuration file as it is before the questions. */
export class OldSettings {
  /** All of it but the address, which may be wrong: it is asked for. */
  readonly sources: Sources;
  readonly answers: OldAnswers;
  readonly #config: ConfigFile;
  readonly #path: string;
  readonly #folder: string;
  /** Absolute. */
  readonly #keyFiles: readonly string[];

  constructor(terminal: Terminal, path: string, config: ConfigFile) {
    this.#config = config;
    this.#path = path;
    this.#folder = terminal.folder;
    this.sources = new Sources(terminal, path, { ...config, url: undefined });
    const absolute = (name: 'visa_file' | 'password_file') => {
      const found = this.sources.configured(name);
      return found && pathOf(found);
    };
    this.#keyFiles = (config.key_files ?? []).map((file) => pathOf(this.sources.inConfig('key_files', file)));
    this.answers = {
      // An address with a password in it must not be shown.
      url: config.url?.includes('@') ? undefined : config.url,
      visaFile: absolute('visa_file'),
      username: config.username,
      passwordFile: absolute('password_file'),
      keyFile: this.#keyFiles[0],
    };
  }

  /** Paths of other keys that are not there any more. In the configuration, one would stop every command that decrypts. */
  async lostKeys({ keyFile }: Answers): Promise<readonly string[]> {
    if (keyFile === undefined) return [];
    const found = await Promise.all(this.#keyFiles.map(exists));
    return this.#keyFiles.filter((path, index) => path !== keyFile && !found[index]);
  }

  /**
   * The configuration with the answers. A path that is the same keeps its form. A key comes first, and those before it stay
   * unless they are lost: older files were made for them.
   */
  changed(answers: Answers, unasked: UnaskedSettings, lostKeys: readonly string[]): ConfigFile {
    const { url, visaFile, username, password, keyFile } = answers;
    const { directUrl, passphraseFile, ca, insecureHttp } = unasked;
    const config = this.#config;
    const passwordPath = password && (password.file ?? passwordFile(this.#path));
    const fromHere = (path: string | undefined) => path && resolve(this.#folder, path);
    return {
      ...config,
      url,
      direct_url: directUrl ?? config.direct_url,
      visa_file: visaFile === this.answers.visaFile ? config.visa_file : visaFile,
      username,
      password_file: passwordPath === this.answers.passwordFile ? config.password_file : passwordPath,
      key_files: this.#withKey(keyFile, lostKeys),
      passphrase_file: fromHere(passphraseFile) ?? config.passphrase_file,
      ca_file: fromHere(ca) ?? config.ca_file,
      insecure_http: insecureHttp ?? config.insecure_http,
    };
  }

  #withKey(keyFile: string | undefined, lostKeys: readonly string[]): readonly string[] | undefined {
    const { key_files: old = [] } = this.#config;
    if (keyFile === undefined) return this.#config.key_files;
    const name = old[this.#keyFiles.indexOf(keyFile)] ?? keyFile;
    const others = old.filter((_, index) => ![keyFile, ...lostKeys].includes(this.#keyFiles[index] ?? ''));
    return [name, ...others];
  }
}
